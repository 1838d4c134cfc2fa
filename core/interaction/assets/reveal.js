// An eye shows what is typed into the field that it controls. Without this script there is none, and the field works as it does.
for (const eye of document.querySelectorAll('button.eye')) {
  const field = document.getElementById(eye.getAttribute('aria-controls'))
  const show = (shown) => {
    field.type = shown ? 'text' : 'password'
    eye.setAttribute('aria-pressed', String(shown))
  }
  eye.hidden = false
  eye.addEventListener('click', () => show(field.type === 'password'))
  // What is sent as text, a browser might remember as text.
  field.form.addEventListener('submit', () => show(false))
}
