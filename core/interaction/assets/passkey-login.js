const { browserSupportsWebAuthn, browserSupportsWebAuthnAutofill, startAuthentication } = await import(
  new URL('webauthn.js', import.meta.url).href
)

/** Sets up a form that an authenticator answers when its button is pressed. */
const offer = (form) => {
  const button = form.querySelector('button.method')
  const optionsJSON = JSON.parse(form.dataset.options)
  const send = (answer) => {
    form.elements.answer.value = JSON.stringify(answer)
    form.requestSubmit(button)
  }
  button.hidden = false
  form.addEventListener('submit', (event) => {
    if (form.elements.answer.value !== '' || event.submitter !== button) return
    event.preventDefault()
    // A person who closes the browser’s window can try again.
    startAuthentication({ optionsJSON }).then(send, () => button.focus())
  })
  return { optionsJSON, send }
}

if (browserSupportsWebAuthn()) {
  const [first] = [...document.querySelectorAll('form[data-ceremony]')].map(offer)
  // Passkeys appear among the suggestions of the username field. A click on the button cancels that.
  if (first && document.querySelector('input[autocomplete$="webauthn"]') && (await browserSupportsWebAuthnAutofill()))
    startAuthentication({ optionsJSON: first.optionsJSON, useBrowserAutofill: true }).then(first.send, () => undefined)
} else {
  for (const note of document.querySelectorAll('[data-not-in-browser]')) note.hidden = false
}
