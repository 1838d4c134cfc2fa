import { startApproval } from './demo-approval.js'
import { waitForTokens } from './demo-device.js'
import { openClient } from './demo-flow.js'
import { offerEnrolment } from './demo-enrolment.js'
import { offerRegistration } from './demo-registration.js'
import { accessTokenHash, decodeJwt } from './demo-jwt.js'
import { checkSignature, createStep, element, fill, find, showChecks, showMembers, showToken } from './demo-show.js'

const settings = find('demo').dataset
/** A payment of the kind that the demo configuration allows. */
const payment = {
  type: 'payment_initiation',
  instructedAmount: { currency: 'EUR', amount: '12.34' },
  creditorName: 'Example Coffee Roasters',
  creditorAccount: { iban: 'DE02100100109307118603' },
}
const buttons = [
  find('demo-sign-in'),
  find('demo-pay'),
  find('demo-device-start'),
  find('demo-approval-start'),
  find('demo-refresh'),
  find('demo-ask'),
  find('demo-forget'),
  find('demo-sign-out'),
]

/** The tokens are kept only here, so a reload forgets them. */
let signIn
/** Ends the wait for another device. */
let waiting
let hasDeviceFlow = false
let hasPayment = false
let hasApprovals = false
const title = find('demo-title').textContent

const showTokens = async (client) => {
  const { clientId, tokens, nonce, asked } = signIn
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
    { passed: audience.length === 1 && audience[0] === clientId, text: 'made for this client' },
    {
      passed: claims.nonce === nonce,
      text: nonce === undefined ? 'no nonce, because none was sent' : 'nonce of this sign-in',
    },
    {
      passed: claims.at_hash === (await accessTokenHash(tokens.access_token, idToken.header.alg)),
      text: 'at_hash matches the access token',
    },
  ])
  showToken('access-token', accessToken, [
    await checkSignature(tokens.access_token, accessToken.header, keySet),
    ...common(accessToken),
    { passed: accessToken.header.typ === 'at+jwt', text: 'typed as an access token' },
    { passed: accessToken.claims.sub === claims.sub, text: 'same subject as the ID token' },
    ...(asked
      ? [
          {
            passed: JSON.stringify(accessToken.claims.authorization_details) === JSON.stringify([asked]),
            text: 'for exactly the payment that this page asked for',
          },
        ]
      : []),
  ])
}

const showUserinfo = async (client) => {
  const userinfo = await client.fetchUserinfo(signIn.tokens.access_token)
  const sameSubject = userinfo.sub === decodeJwt(signIn.tokens.id_token).claims.sub
  signIn.name = userinfo.name ?? userinfo.preferred_username ?? userinfo.sub
  fill('userinfo', showChecks([{ passed: sameSubject, text: 'same subject as the ID token' }]), showMembers(userinfo))
}

const showSignedIn = (signedIn) => {
  find('demo-result').hidden = !signedIn
  find('demo-intro').classList.toggle('signed-in', signedIn)
  find('demo-title').replaceChildren(
    ...(signedIn ? ['Signed in as ', element('bdi', '', signIn.name ?? settings.username)] : [title]),
  )
  find('demo-sign-in').hidden = signedIn
  find('demo-pay').hidden = signedIn || !hasPayment
  find('demo-device-start').hidden = signedIn || !hasDeviceFlow || waiting !== undefined
  find('demo-approval-start').hidden = signedIn || !hasApprovals || waiting !== undefined
  // Without a sign-in in a browser, there is no session to leave.
  find('demo-sign-out').hidden = signIn?.asked !== undefined
  find('demo-refresh').hidden = !signIn?.tokens.refresh_token
}

const step = createStep(buttons, find('demo-status'), find('demo-problem'))

const forget = () => {
  signIn = undefined
  for (const id of ['id-token', 'access-token', 'userinfo']) fill(id)
  showSignedIn(false)
  find('demo-status').textContent = 'This page has forgotten the tokens. You are still signed in at the provider.'
  find('demo-sign-in').focus()
}

const showSignIn = async (client) => {
  await showTokens(client)
  await showUserinfo(client)
  showSignedIn(true)
  find('demo-result-title').focus()
}

const receive = async (client) => {
  hasDeviceFlow = client.hasDeviceFlow
  hasPayment = client.hasDetails(payment.type)
  hasApprovals = hasPayment && client.hasApprovals
  showSignedIn(false)
  const answer = new URLSearchParams(location.search)
  history.replaceState(null, '', location.pathname)
  signIn = await client.finishSignIn(answer)
  if (!signIn) return 'nothing'
  await showSignIn(client)
  return 'signed in'
}

/** The outcomes of RFC 8628 §3.5 as text for people. */
const deviceEndings = new Map([
  ['access_denied', 'The request was denied on the other device. This page got no token. You can try again.'],
  ['expired_token', 'The code expired before anybody allowed it. Start again to get a new one.'],
])

const showDevice = async (device) => {
  find('demo-device-code').textContent = device.user_code
  const links = {
    'demo-device-link': device.verification_uri,
    'demo-device-complete': device.verification_uri_complete,
  }
  for (const [id, href] of Object.entries(links)) find(id).href = href
  find('demo-device-link').textContent = device.verification_uri
  const end = new Date(Date.now() + device.expires_in * 1000)
  find('demo-device-end').textContent = end.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
  const { drawQrCode } = await import('./demo-qr.js')
  const label = 'QR code of the page with the code filled in'
  find('demo-device-qr').replaceChildren(drawQrCode(device.verification_uri_complete, label))
  find('demo-device').hidden = false
  find('demo-device-title').focus()
}

const stopWaiting = (message) => {
  waiting?.abort()
  waiting = undefined
  for (const id of ['demo-device', 'demo-approval']) find(id).hidden = true
  showSignedIn(signIn !== undefined)
  find('demo-status').textContent = message
}

/** Waits until a person has decided elsewhere, while `panel` says how. The buttons stay enabled meanwhile. */
const waitFor = async (client, { panel, poll, interval = 5, endings, done }) => {
  waiting = new AbortController()
  const { signal } = waiting
  const tellInterval = (seconds) => {
    find(`${panel}-status`).textContent = `Waiting for your answer there, asking every ${seconds} seconds.`
  }
  showSignedIn(false)
  tellInterval(interval)
  const show = await waitForTokens(poll, interval, signal, tellInterval).then(
    (received) => async () => {
      signIn = received
      await showSignIn(client)
    },
    (error) => () => {
      throw new Error(endings.get(error.code) ?? error.message)
    },
  )
  if (signal.aborted) return
  stopWaiting('')
  await step('', done, async () => await show())
}

const startDevice = async (client) => {
  const device = await client.startDevice()
  await showDevice(device)
  void waitFor(client, {
    panel: 'demo-device',
    poll: () => client.pollDevice(device.device_code),
    interval: device.interval,
    endings: deviceEndings,
    done: 'Signed in with the other device.',
  })
}

const refresh = async (client) => {
  const { sub } = decodeJwt(signIn.tokens.id_token).claims
  const tokens = await client.refresh(signIn)
  if (decodeJwt(tokens.id_token).claims.sub !== sub) throw new Error('The new tokens belong to another person.')
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
  find('demo-pay').addEventListener('click', () =>
    step(
      'Going to the sign-in page …',
      'Going to the sign-in page …',
      async () => await (await connected()).startSignIn({ details: payment }),
    ),
  )
  find('demo-device-start').addEventListener('click', () =>
    step('Asking for a code …', '', async () => await startDevice(await connected())),
  )
  find('demo-device-stop').addEventListener('click', () => {
    stopWaiting('Stopped waiting. This page no longer uses the code.')
    find('demo-device-start').focus()
  })
  find('demo-approval-start').addEventListener('click', () =>
    step('Asking …', '', async () => {
      const asking = await connected()
      void waitFor(asking, await startApproval(asking, payment))
    }),
  )
  find('demo-approval-stop').addEventListener('click', () => {
    stopWaiting('Stopped waiting. The request waits on the device until its time is over.')
    find('demo-approval-start').focus()
  })
  find('demo-refresh').addEventListener('click', () =>
    step(
      'Refreshing …',
      'Refreshed. These are new tokens for the same sign-in.',
      async () => await refresh(await connected()),
    ),
  )
  find('demo-ask').addEventListener('click', () =>
    step('Asking …', 'Userinfo answered.', async () => await showUserinfo(await connected())),
  )
  find('demo-forget').addEventListener('click', forget)
  find('demo-sign-out').addEventListener('click', () =>
    step('Going to sign out …', 'Going to sign out …', async () => (await connected()).signOut(signIn)),
  )
  offerCopies()
  await offerEnrolment(settings.issuer)
  await step('', '', async () => {
    await offerRegistration(settings, connected)
    return await receive(await connected())
  })
}

const home = new URL(`${settings.issuer}/`)
if (location.origin === home.origin) await start()
else {
  find('demo-problem').textContent = `The sign-in works only at ${home.href}: open this page there.`
  find('demo-problem').hidden = false
}
