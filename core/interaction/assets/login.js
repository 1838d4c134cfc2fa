const password = document.getElementById('password')
const reveal = document.getElementById('password-reveal')

const show = (shown) => {
  password.type = shown ? 'text' : 'password'
  reveal.setAttribute('aria-pressed', String(shown))
}

// Where another method is in front there is no password.
if (password !== null) {
  reveal.hidden = false
  reveal.addEventListener('click', () => show(password.type === 'password'))
  // What is sent as text, a browser might remember as text.
  password.form.addEventListener('submit', () => show(false))
}

const code = document.getElementById('code')
const recovery = document.getElementById('use-recovery-code')

// Codes of an app are digits, which a phone has a keyboard for; recovery codes have letters.
if (code !== null) {
  code.inputMode = 'numeric'
  if (recovery !== null) {
    recovery.hidden = false
    document.getElementById('code-recovery').hidden = true
    recovery.addEventListener('click', () => {
      const isOn = recovery.getAttribute('aria-pressed') === 'false'
      recovery.setAttribute('aria-pressed', String(isOn))
      document.getElementById('code-recovery').hidden = !isOn
      code.inputMode = isOn ? 'text' : 'numeric'
      code.autocomplete = isOn ? 'off' : 'one-time-code'
      code.focus()
    })
  }
}
