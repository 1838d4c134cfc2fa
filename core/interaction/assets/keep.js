// The gaps between groups of a secret are only visual. Codes stand one to a line.
const textOf = (element) =>
  element.tagName === 'OL'
    ? [...element.querySelectorAll('code')].map((code) => code.textContent).join('\n')
    : element.textContent.replaceAll(' ', '')

for (const button of document.querySelectorAll('[data-copies]')) {
  const said = button.textContent
  button.hidden = navigator.clipboard === undefined
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(textOf(document.getElementById(button.dataset.copies)))
    button.textContent = button.dataset.done
    button.addEventListener('blur', () => (button.textContent = said), { once: true })
  })
}

const codes = document.getElementById('recovery-codes')
if (codes !== null) {
  document.getElementById('codes-actions').hidden = false
  document.getElementById('codes-download').href = URL.createObjectURL(
    new Blob([`${textOf(codes)}\n`], { type: 'text/plain' }),
  )
  document.getElementById('codes-print').addEventListener('click', () => print())
}
