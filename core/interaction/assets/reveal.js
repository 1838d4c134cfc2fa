// An eye button shows what is typed into the field it controls. Without this script there is no button, and the field
// works as usual.
for (const eye of document.querySelectorAll('button.eye')) {
  const field = document.getElementById(eye.getAttribute('aria-controls'))
  const show = (shown) => {
    field.type = shown ? 'text' : 'password'
    eye.setAttribute('aria-pressed', String(shown))
  }
  eye.hidden = false
  eye.addEventListener('click', () => show(field.type === 'password'))
  // A browser might remember what is submitted as text, so the field is hidden before that.
  field.form.addEventListener('submit', () => show(false))
}
