const { browserSupportsWebAuthn, startRegistration } = await import(new URL('webauthn.js', import.meta.url).href)

const form = document.getElementById('passkey-form')
const button = document.getElementById('passkey-add')
const problem = document.getElementById('passkey-problem')

const tell = (name) => {
  problem.textContent = form.dataset[name]
  problem.hidden = false
}

const add = async () => {
  problem.hidden = true
  button.disabled = true
  try {
    const made = await startRegistration({ optionsJSON: JSON.parse(form.dataset.options) })
    form.elements.answer.value = JSON.stringify(made)
  } catch (error) {
    tell(error.name === 'InvalidStateError' ? 'known' : 'stopped')
    return
  } finally {
    button.disabled = false
  }
  form.requestSubmit(button)
}

if (browserSupportsWebAuthn()) {
  form.hidden = false
  form.addEventListener('submit', (event) => {
    if (form.elements.answer.value !== '') return
    event.preventDefault()
    void add()
  })
} else {
  document.getElementById('passkey-unsupported').hidden = false
}
