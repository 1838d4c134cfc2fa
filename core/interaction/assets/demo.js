import { openClient } from './demo-flow.js'
import { accessTokenHash, decodeJwt, verifyJwt } from './demo-jwt.js'

const find = (id) => document.getElementById(id)
const settings = find('demo').dataset
const buttons = [find('demo-sign-in'), find('demo-refresh'), find('demo-ask'), find('demo-forget')]

/** Tokens live here alone: a reload forgets them. */
let signIn

const element = (name, className, ...children) => {
  const created = document.createElement(name)
  if (className) created.className = className
  created.append(...children)
  return created
}

const times = new Set(['exp', 'iat', 'nbf', 'auth_time', 'updated_at'])

const showValue = (name, value) => {
  const shown = typeof value === 'string' ? value : JSON.stringify(value)
  const parts = [element('code', '', shown)]
  if (times.has(name) && typeof value === 'number') {
    parts.push(element('small', '', new Date(value * 1000).toLocaleString()))
  }
  return parts
}

const showMembers = (object) =>
  element(
    'dl',
    'pairs members',
    ...Object.entries(object).map(([name, value]) =>
      element('div', '', element('dt', '', element('code', '', name)), element('dd', '', ...showValue(name, value))),
    ),
  )

const showChecks = (checks) =>
  element(
    'ul',
    'checks',
    ...checks.map(({ passed, text }) => element('li', passed ? 'passed' : 'failed', passed ? text : `not so: ${text}`)),
  )

const showCompact = (segments) => {
  const parts = segments.flatMap((segment, index) => [index > 0 ? '.' : '', element('span', `part-${index}`, segment)])
  const code = element('pre', 'compact', element('code', '', ...parts))
  code.tabIndex = 0
  return element('details', '', element('summary', '', 'As it was sent'), code)
}

/** Keeps the heading and the line under it, replaces the rest. */
const fill = (id, ...children) => {
  const panel = find(id)
  panel.replaceChildren(panel.children[0], panel.children[1], ...children)
}

const showToken = (id, { header, claims, segments }, checks) =>
  fill(
    id,
    showChecks(checks),
    element('h4', '', 'Header'),
    showMembers(header),
    element('h4', '', 'Claims'),
    showMembers(claims),
    showCompact(segments),
  )

const checkSignature = async (jwt, header, keySet) => ({
  passed: await verifyJwt(jwt, keySet),
  text: `signature verified (${header.alg}, key ${header.kid})`,
})

const showTokens = async (client) => {
  const { tokens, nonce } = signIn
  const keySet = await client.fetchKeySet()
  const idToken = decodeJwt(tokens.id_token)
  const accessToken = decodeJwt(tokens.access_token)
  const { claims } = idToken
  const audience = [claims.aud].flat()
  const now = Date.now() / 1000
  const common = (token) => [
    { passed: token.claims.iss === settings.issuer, text: 'issuer as expected' },
    { passed: token.claims.exp > now - 10, text: 'not expired' },
  ]
  showToken('id-token', idToken, [
    await checkSignature(tokens.id_token, idToken.header, keySet),
    ...common(idToken),
    { passed: audience.length === 1 && audience[0] === settings.clientId, text: 'made for this client' },
    { passed: claims.nonce === nonce, text: 'nonce of this sign-in' },
    {
      passed: claims.at_hash === (await accessTokenHash(tokens.access_token, idToken.header.alg)),
      text: 'at_hash fits the access token',
    },
  ])
  showToken('access-token', accessToken, [
    await checkSignature(tokens.access_token, accessToken.header, keySet),
    ...common(accessToken),
    { passed: accessToken.header.typ === 'at+jwt', text: 'typed as an access token' },
    { passed: accessToken.claims.sub === claims.sub, text: 'same subject as the ID token' },
  ])
}

const showUserinfo = async (client) => {
  const userinfo = await client.fetchUserinfo(signIn.tokens.access_token)
  const sameSubject = userinfo.sub === decodeJwt(signIn.tokens.id_token).claims.sub
  fill('userinfo', showChecks([{ passed: sameSubject, text: 'same subject as the ID token' }]), showMembers(userinfo))
}

const showSignedIn = (signedIn) => {
  find('demo-result').hidden = !signedIn
  find('demo-sign-in').hidden = signedIn
  find('demo-refresh').hidden = !signIn?.tokens.refresh_token
}

/** One step at a time; what goes wrong is told as text. */
const step = async (doing, done, work) => {
  for (const button of buttons) button.disabled = true
  find('demo-problem').hidden = true
  find('demo-status').textContent = doing
  try {
    find('demo-status').textContent = (await work()) === 'nothing' ? '' : done
  } catch (error) {
    find('demo-status').textContent = ''
    find('demo-problem').textContent = error.message
    find('demo-problem').hidden = false
  }
  for (const button of buttons) button.disabled = false
}

const forget = () => {
  signIn = undefined
  for (const id of ['id-token', 'access-token', 'userinfo']) fill(id)
  showSignedIn(false)
  find('demo-status').textContent = 'Forgotten here. The provider still remembers your browser.'
  find('demo-sign-in').focus()
}

const receive = async (client) => {
  const answer = new URLSearchParams(location.search)
  history.replaceState(null, '', location.pathname)
  signIn = await client.finishSignIn(answer)
  if (!signIn) return 'nothing'
  await showTokens(client)
  await showUserinfo(client)
  showSignedIn(true)
  find('demo-result-title').focus()
  return 'signed in'
}

const refresh = async (client) => {
  const { sub } = decodeJwt(signIn.tokens.id_token).claims
  const tokens = await client.refresh(signIn.tokens.refresh_token)
  if (decodeJwt(tokens.id_token).claims.sub !== sub) throw new Error('The new tokens are of another person.')
  signIn = { ...signIn, tokens: { ...signIn.tokens, ...tokens } }
  await showTokens(client)
}

const offerCopies = () => {
  for (const button of document.querySelectorAll('[data-copy]')) {
    button.hidden = false
    button.addEventListener('click', () =>
      step('', 'Copied.', async () => await navigator.clipboard.writeText(find(button.dataset.copy).textContent)),
    )
  }
}

const start = async () => {
  let client
  showSignedIn(false)
  const connected = async () => (client ??= await openClient(settings))
  find('demo-sign-in').addEventListener('click', () =>
    step(
      'Going to the sign-in page …',
      'Going to the sign-in page …',
      async () => await (await connected()).startSignIn(),
    ),
  )
  find('demo-refresh').addEventListener('click', () =>
    step('Refreshing …', 'Refreshed: new tokens for the same sign-in.', async () => await refresh(await connected())),
  )
  find('demo-ask').addEventListener('click', () =>
    step('Asking …', 'Userinfo answered.', async () => await showUserinfo(await connected())),
  )
  find('demo-forget').addEventListener('click', forget)
  offerCopies()
  await step('', 'Signed in.', async () => await receive(await connected()))
}

const home = new URL(`${settings.issuer}/`)
if (location.origin === home.origin) await start()
else {
  find('demo-problem').textContent = `The sign-in works at ${home.href} only: open this page there.`
  find('demo-problem').hidden = false
}
