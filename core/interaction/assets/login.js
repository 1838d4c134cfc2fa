const code = document.getElementById('code')
const recovery = document.getElementById('use-recovery-code')

// Codes of an app are digits, for which phones have a keyboard; recovery codes contain letters.
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
