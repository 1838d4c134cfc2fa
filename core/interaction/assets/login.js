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
