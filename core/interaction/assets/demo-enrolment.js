import { describeKey, newKeyPair, openDeviceStore, signChallenge } from './demo-device-key.js'
import { decodeJwt } from './demo-jwt.js'
import { checkSignature, createStep, element, fill, find, showChecks, showMembers, showToken } from './demo-show.js'

/** The named errors in words, with what to do about them. */
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
  [
    'InvalidChallenge',
    'The challenge was already used or has expired. To renew, try again; to enrol, make another secret with the command below.',
  ],
  ['RateLimited', 'Too many requests. Wait a moment, and try again.'],
  ['Unavailable', 'The provider cannot answer at the moment. Your secret is still valid: try again.'],
])

/** After these a challenge is good for nothing; after anything else the same request may be repeated. */
const spent = new Set(['InvalidChallenge', 'ChallengeSignatureInvalid'])

const post = async (url, body) => {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(url, { method: 'POST', credentials: 'omit', headers, body: JSON.stringify(body) }).catch(
    () => {
      throw new Error('The provider is not responding. Is it running?')
    },
  )
  const answer = await response.json().catch(() => ({}))
  if (response.ok) return answer
  const reason = words.get(answer.error_code) ?? answer.error_description ?? `The provider answered ${response.status}.`
  throw Object.assign(new Error(`${reason} (${answer.error_code ?? response.status})`), { code: answer.error_code })
}

const fetchKeySet = async (issuer) => await (await fetch(`${issuer}/jwks.json`, { credentials: 'omit' })).json()

/** What a verifier checks, apart from the signature of each request. */
const checkAttestation = async (attestation, { header, claims }, jkt, issuer) => [
  await checkSignature(attestation, header, await fetchKeySet(issuer)),
  { passed: header.typ === 'device-attestation+jwt', text: 'typed as an attestation' },
  { passed: claims.iss === issuer, text: 'issuer as expected' },
  { passed: claims.exp > Date.now() / 1000, text: 'not expired' },
  { passed: claims.cnf.jkt === jkt, text: 'about the key of this browser' },
  { passed: claims.att.status === 'active', text: 'status active' },
]

const show = async (issuer, device) => {
  find('enrol').hidden = device !== undefined
  find('enrolled').hidden = device === undefined
  find('restore').hidden = true
  find('attestation').classList.remove('past')
  if (device === undefined) return
  const { jwk, jkt } = await describeKey(device.keys)
  const decoded = decodeJwt(device.attestation)
  const { extractable, usages } = device.keys.privateKey
  showToken('attestation', decoded, await checkAttestation(device.attestation, decoded, jkt, issuer))
  fill(
    'device-key',
    showChecks([
      { passed: !extractable, text: 'made here; no script can read it' },
      { passed: usages.join() === 'sign', text: 'can only sign' },
    ]),
    showMembers({ thumbprint: jkt, ...jwk }),
  )
}

const forgetPanels = () => {
  for (const id of ['attestation', 'device-key']) fill(id)
}

/** Makes this browser a device, where the page has a place for it. */
export const offerEnrolment = async (issuer) => {
  const place = find('demo-enrolment')
  if (!place) return
  const { kind, subject, principalId, principalType } = place.dataset
  const store = openDeviceStore(issuer)
  const buttons = [find('enrol-start'), find('enrol-renew'), find('enrol-forget')]
  const step = createStep(buttons, find('enrol-status'), find('enrol-problem'))
  let device
  /** Key and challenge of an enrolment that is not complete. Its secret is used up: another enrolment needs another. */
  let begun

  /** Renewing it is refused; nobody else knows of that yet. */
  const showPast = () => {
    const card = find('attestation')
    if (device === undefined || card.classList.contains('past')) return
    card.classList.add('past')
    const until = new Date(decodeJwt(device.attestation).claims.exp * 1000).toLocaleString()
    const note = `Issued before the revocation. Other verifiers accept it until ${until}.`
    card.children[1].after(element('p', 'note', note))
  }

  /** A revocation can be taken back: the command for it stands beside the refusal. */
  const orOfferRestore = async (work) => {
    try {
      return await work()
    } catch (error) {
      const isRevoked = error.code === 'PrincipalRevoked'
      find('restore').hidden = !isRevoked
      if (isRevoked) showPast()
      throw error
    }
  }

  const complete = async (keys, challenge) => {
    const challenge_signature = await signChallenge(keys, challenge, issuer)
    const { attestation } = await post(`${issuer}/enrol/complete`, { challenge, challenge_signature })
    device = { keys, attestation }
    await store.save(device)
    await show(issuer, device)
  }

  const begin = async () => {
    const keys = await newKeyPair()
    const { jwk } = await describeKey(keys)
    const { challenge } = await post(`${issuer}/enrol`, {
      subject,
      principal_id: principalId,
      principal_type: principalType,
      public_jwk: jwk,
      attributes: { model: 'browser' },
      second_factor: { kind, value: find('enrol-secret').value.trim() },
    })
    return { keys, challenge }
  }

  const enrol = async () => {
    begun ??= await begin()
    try {
      await complete(begun.keys, begun.challenge)
    } catch (error) {
      if (spent.has(error.code)) begun = undefined
      throw error
    }
    begun = undefined
    find('enrol-secret').value = ''
    find('enrolled-title').focus()
  }

  const renew = async () => {
    const { jwk } = await describeKey(device.keys)
    const { challenge } = await post(`${issuer}/reissue`, { attestation: device.attestation, public_jwk: jwk })
    await complete(device.keys, challenge)
  }

  find('enrol').addEventListener('submit', (event) => {
    event.preventDefault()
    void step('Enrolling …', 'Enrolled.', async () => await orOfferRestore(enrol))
  })
  find('enrol-renew').addEventListener('click', () =>
    step('Renewing …', 'Renewed with the key alone, without a secret.', async () => await orOfferRestore(renew)),
  )
  find('enrol-forget').addEventListener('click', () =>
    step('', 'This browser has deleted the key and the attestation. The provider still knows the device.', async () => {
      await store.remove()
      device = undefined
      forgetPanels()
      await show(issuer, device)
      find('enrol-secret').focus()
    }),
  )
  await step('', '', async () => {
    device = await store.find()
    await show(issuer, device)
  })
  place.hidden = false
}
