import { offerApprovals, showDecisions } from './demo-approvals.js'
import { decodeJwt, toBase64Url } from './demo-jwt.js'
import { offerPayments } from './demo-payment.js'
import { checkSignature, createStep, element, fill, find, showChecks, showMembers, showToken } from './demo-show.js'

/** The named errors as text for people, with what to do about them. */
const words = new Map([
  [
    'SecondFactorFailed',
    'The secret was not accepted: it is wrong, already used or expired. Make another one with the command below.',
  ],
  [
    'PrincipalRevoked',
    'This device is revoked, or another browser was enrolled in its place. Its attestation expires and cannot be renewed.',
  ],
  ['AttestationInvalid', 'The attestation has expired. Forget it, and enrol again.'],
  ['ReenrolmentRequired', 'After so long the key alone is not enough. Forget it, and enrol again.'],
  ['KeyNotBound', 'The attestation is about another key. Forget it, and enrol again.'],
  ['StoreCorrupted', 'What this browser has kept is damaged. Forget it, and enrol again.'],
  ['InvalidChallenge', 'The answer was lost, or came too late. Make another secret with the command below.'],
  ['ApprovalOver', 'Another device was faster, or the time is over.'],
  ['ApprovalUnknown', 'This request is gone.'],
  ['RateLimited', 'Too many requests. Wait a moment, and try again.'],
  ['Unavailable', 'The provider cannot answer at the moment. Try again.'],
  ['Unreachable', 'The provider is not responding. Is it running?'],
])

/** The limit in milliseconds, because a person in front of a page does not wait as long as a device does. */
const patience = 30_000
const outOfPatience =
  'The provider has not answered for half a minute. Is it running? Try again; if your secret is used up, make another one with the command below.'

const inWords = (error) => {
  if (error.name !== 'DeviceError') return error
  const { errorCode, message } = error
  return Object.assign(new Error(`${words.get(errorCode) ?? message} (${errorCode})`), { code: errorCode })
}

const fetchKeySet = async (issuer) => await (await fetch(`${issuer}/jwks.json`, { credentials: 'omit' })).json()

/** Describes the public half of a key, and its thumbprint (RFC 7638 §3). */
const describeKey = async ({ publicKey }) => {
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  const members = new TextEncoder().encode(JSON.stringify({ crv, kty, x, y }))
  return { jwk: { kty, crv, x, y }, jkt: toBase64Url(await crypto.subtle.digest('SHA-256', members)) }
}

/** Makes the checks of a verifier, apart from the signature of each request. */
const checkAttestation = async (attestation, { header, claims }, jkt, issuer) => [
  await checkSignature(attestation, header, await fetchKeySet(issuer)),
  { passed: header.typ === 'device-attestation+jwt', text: 'typed as an attestation' },
  { passed: claims.iss === issuer, text: 'issuer as expected' },
  { passed: claims.exp > Date.now() / 1000, text: 'not expired' },
  { passed: claims.cnf.jkt === jkt, text: 'about the key of this browser' },
  { passed: claims.att.status === 'active', text: 'status active' },
]

const show = async (issuer, record) => {
  find('enrol').hidden = record !== undefined
  find('enrolled').hidden = record === undefined
  find('restore').hidden = true
  find('attestation').classList.remove('past')
  if (record === undefined) return
  const { jwk, jkt } = await describeKey(record.keys)
  const decoded = decodeJwt(record.attestation)
  const { extractable, usages } = record.keys.privateKey
  showToken('attestation', decoded, await checkAttestation(record.attestation, decoded, jkt, issuer))
  fill(
    'device-key',
    showChecks([
      { passed: !extractable, text: 'made here; no script can read it' },
      { passed: usages.join() === 'sign', text: 'can only sign' },
    ]),
    showMembers({ thumbprint: jkt, ...jwk }),
  )
}

/** Marks an attestation whose renewal was refused. No other party knows of the refusal yet. */
const showPast = (record) => {
  const card = find('attestation')
  if (record === undefined || card.classList.contains('past')) return
  card.classList.add('past')
  const until = new Date(decodeJwt(record.attestation).claims.exp * 1000).toLocaleString()
  const note = `Issued before the revocation. Other verifiers accept it until ${until}.`
  card.children[1].after(element('p', 'note', note))
}

/** Makes this browser a device, if the page has a section for it. */
export const offerEnrolment = async (issuer) => {
  const place = find('demo-enrolment')
  if (!place) return
  // The library for devices is beside this file only where it is served.
  const { createDevice, indexedDbStore } = await import(new URL('signet-device.js', import.meta.url).href)
  const { kind, subject, principalId, principalType } = place.dataset
  const store = indexedDbStore(`signet-demo ${issuer}`)
  const device = createDevice({ issuer, store, fetch: showDecisions })
  const approvals = offerApprovals(device)
  const payments = offerPayments(issuer, device)
  const buttons = [
    find('enrol-start'),
    find('enrol-renew'),
    find('enrol-forget'),
    ...approvals.buttons,
    ...payments.buttons,
  ]
  const step = createStep(buttons, find('enrol-status'), find('enrol-problem'))

  /** A revocation can be undone, so the command for it is shown beside the refusal. */
  const tried = async (work) => {
    try {
      await work()
      const record = await store.read()
      await show(issuer, record)
      if (record !== undefined) approvals.start()
    } catch (error) {
      const isRevoked = error.errorCode === 'PrincipalRevoked'
      find('restore').hidden = !isRevoked
      if (isRevoked) showPast(await store.read())
      throw inWords(error)
    }
  }

  const enrol = async () => {
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(new Error(outOfPatience)), patience)
    try {
      await device.enrol({
        subject,
        principalId,
        principalType,
        attributes: { model: 'browser' },
        secondFactor: { kind, value: find('enrol-secret').value.trim() },
        signal: stop.signal,
      })
    } finally {
      clearTimeout(timer)
    }
    find('enrol-secret').value = ''
  }

  find('enrol').addEventListener('submit', (event) => {
    event.preventDefault()
    void step('Enrolling …', 'Enrolled.', async () => {
      await tried(enrol)
      find('enrolled-title').focus()
    })
  })
  find('enrol-renew').addEventListener('click', () =>
    step('Renewing …', 'Renewed with the key alone, without a secret.', () => tried(() => device.renew())),
  )
  find('enrol-forget').addEventListener('click', () =>
    step('', 'This browser has deleted the key and the attestation. The provider still knows the device.', async () => {
      await device.forget()
      for (const id of ['attestation', 'device-key']) fill(id)
      payments.forget()
      approvals.stop()
      await show(issuer, undefined)
      find('enrol-secret').focus()
    }),
  )
  approvals.offer(step, inWords)
  payments.offer(step, inWords)
  await step('', '', () => tried(async () => undefined))
  place.hidden = false
  // A link to a part of the page that was hidden has not scrolled anywhere yet.
  if (location.hash === `#${place.id}`) place.scrollIntoView()
}
