import { readAnswer } from './demo-flow.js'
import { createStep, element, fill, find, showMembers } from './demo-show.js'

/** The registration survives the redirect to the sign-in page, but not the end of the tab. */
const storageKey = 'signet-demo-registration'
const hidden = '•'.repeat(24)

/** Suggests the metadata that the policy of the demo configuration allows. */
const suggestMetadata = (issuer, scope) => ({
  client_name: 'My application',
  redirect_uris: [`${issuer}/`],
  post_logout_redirect_uris: [`${issuer}/`],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
  scope: scope
    .split(' ')
    .filter((value) => ['openid', 'profile', 'email', 'offline_access'].includes(value))
    .join(' '),
})

const send = async (url, init) =>
  await readAnswer(
    await fetch(url, { credentials: 'omit', ...init }).catch(() => {
      throw new Error('The provider is not responding. Is it running?')
    }),
  )

const load = () => JSON.parse(sessionStorage.getItem(storageKey) ?? 'null')

const save = (registration) => {
  if (registration) sessionStorage.setItem(storageKey, JSON.stringify(registration))
  else sessionStorage.removeItem(storageKey)
}

const reveal = (token) => {
  find('registration-token').textContent = token ?? hidden
  find('registration-reveal').firstChild.data = token === undefined ? 'Reveal' : 'Hide'
}

const show = (registration) => {
  find('register').hidden = registration !== null
  find('registered').hidden = registration === null
  find('registered-id').textContent = registration?.client_id ?? ''
  reveal(undefined)
  if (!registration) return fill('registered-metadata')
  const above = new Set(['client_id', 'registration_access_token'])
  const metadata = Object.fromEntries(Object.entries(registration).filter(([name]) => !above.has(name)))
  fill('registered-metadata', element('details', '', element('summary', '', 'The whole answer'), showMembers(metadata)))
}

/**
 * Registers a client (RFC 7591), signs in with it, and deletes it (RFC 7592 §2.3). `connect` opens the client of
 * `demo-flow.js`.
 */
export const offerRegistration = async ({ issuer, scope }, connect) => {
  const buttons = [find('register-start'), find('registered-sign-in'), find('registered-delete')]
  const step = createStep(buttons, find('register-status'), find('register-problem'))
  const metadata = find('register-metadata')
  const { registrationEndpoint } = await connect()
  if (!registrationEndpoint) return

  const register = async () => {
    const headers = { 'Content-Type': 'application/json' }
    save(await send(registrationEndpoint, { method: 'POST', headers, body: metadata.value }))
    show(load())
    find('registered-title').focus()
  }

  const signIn = async () => {
    const registration = load()
    if (!registration.redirect_uris.includes(`${issuer}/`)) {
      throw new Error(`This page cannot receive the answer: redirect_uris does not contain ${issuer}/`)
    }
    await (await connect()).startSignIn({ registration })
  }

  const forget = () => {
    save(undefined)
    show(null)
    metadata.focus()
  }

  const remove = async () => {
    const { registration_client_uri, registration_access_token } = load()
    const headers = { Authorization: `Bearer ${registration_access_token}` }
    try {
      await send(registration_client_uri, { method: 'DELETE', headers })
    } catch (error) {
      if (error.status !== 401) throw error
      forget()
      throw new Error('The provider no longer knew this registration. This page has forgotten it.', { cause: error })
    }
    forget()
  }

  find('register').addEventListener('submit', (event) => {
    event.preventDefault()
    void step('Registering …', 'Registered.', register)
  })
  find('registered-sign-in').addEventListener('click', () =>
    step('Going to the sign-in page …', 'Going to the sign-in page …', signIn),
  )
  find('registered-delete').addEventListener('click', () =>
    step('Deleting …', 'Deleted. The provider no longer knows the application.', remove),
  )
  find('registration-reveal').addEventListener('click', () =>
    reveal(find('registration-token').textContent === hidden ? load().registration_access_token : undefined),
  )
  metadata.value = JSON.stringify(suggestMetadata(issuer, scope), null, 2)
  metadata.rows = metadata.value.split('\n').length
  show(load())
  find('demo-registration').hidden = false
}
