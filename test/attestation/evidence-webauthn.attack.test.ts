import { beforeAll, describe, expect, it } from 'vitest'
import plugin from '../../plugins/attestation/evidence-webauthn/index.js'
import { askEvidence, challenge, jkt } from '../support/clients/ask-evidence.js'
import {
  createAuthenticator,
  model,
  origin,
  rpId,
  sayModel,
  type Authenticator,
  type RegistrationRequest,
} from '../support/forge/authenticator.js'
import { flags } from '../support/forge/authenticator-data.js'
import { createCertificateAuthority, createCertificateKeys } from '../support/forge/certificates.js'

type Json = Record<string, unknown>

let authenticator: Authenticator
beforeAll(async () => {
  authenticator = await createAuthenticator()
})

const levels = { key_storage: ['https://bank.example/keys/1'], user_authentication: ['iso_18045_moderate'] }
const ask = (credential: unknown, changes: Json = {}) =>
  askEvidence(
    plugin,
    { roots: [authenticator.root.pem], rp_id: rpId, origins: [origin], ...levels, ...changes },
    { credential },
  )
const askFor = async (request: Partial<RegistrationRequest>, changes: Json = {}) =>
  ask(await authenticator.register({ challenge, jkt, ...request }), changes)
const refused = (reason: string) => ({ ok: false, reason: `webauthn: ${reason}` })

const { present, verified, attested, mayBackUp } = flags
const unverified = { data: { flags: present | attested } }

describe('a registration', () => {
  it('of an authenticator that the deployer trusts is accepted', async () => {
    expect(await askFor({}, { aaguids: [model.toUpperCase()] })).toEqual({
      ok: true,
      ...{ keyStorage: levels.key_storage, userAuthentication: levels.user_authentication },
      details: { aaguid: model, format: 'packed', user_verified: true },
    })
  })
  it('without user verification reports none where the policy does not require it', async () => {
    const answer = await askFor(unverified, { require_user_verification: false })
    expect(answer).toMatchObject({ ok: true, keyStorage: levels.key_storage, details: { user_verified: false } })
    expect(answer).not.toHaveProperty('userAuthentication')
  })
  it('by a key whose own certificate is configured is accepted until that expires, and no other is', async () => {
    const keys = await createCertificateKeys()
    const ownOf = (notAfter: Date, one = keys) => authenticator.root.issue({ eku: null, keys: one, notAfter })
    const [soon, past] = [new Date(Date.now() + 60_000), new Date(Date.now() - 60_000)]
    const stranger = await createCertificateAuthority()
    const request = { by: stranger, leaf: { keys }, signer: keys }
    expect(await askFor(request, { roots: [(await ownOf(soon)).pem] })).toMatchObject({ ok: true })
    for (const own of [await ownOf(past), await ownOf(soon, await createCertificateKeys())])
      expect(await askFor(request, { roots: [own.pem] })).toEqual(refused(untrusted))
  })
})

type Made = Partial<RegistrationRequest> | Promise<Partial<RegistrationRequest>>
const notRight = 'the statement is not right'
const noneInside = 'the statement has no certificate'
const noHardware = 'the format of the statement says nothing of hardware'
const otherStatement = 'it is for another challenge or key'
const untrusted = 'no trust anchor has issued it'

describe('EV15: a registration', () => {
  const rows: readonly (readonly [string, string, () => Made])[] = [
    ['for another challenge', otherStatement, () => ({ challenge: 'd'.repeat(72) })],
    ['for another key', otherStatement, () => ({ jkt: 'x'.repeat(43) })],
    ['for the bare challenge', otherStatement, () => ({ clientData: { challenge } })],
    ['with a list for a challenge', otherStatement, () => ({ clientData: { challenge: [] } })],
    [
      'from another origin',
      'it is from another origin',
      () => ({ clientData: { origin: 'https://id.bank.example.evil' } }),
    ],
    ['from another port', 'it is from another origin', () => ({ clientData: { origin: `${origin}:8443` } })],
    [
      'in a frame of another origin',
      'it was made in a frame of another origin',
      () => ({ clientData: { crossOrigin: true } }),
    ],
    ['that is a login', 'it is no registration', () => ({ clientData: { type: 'webauthn.get' } })],
    ['for another site', notRight, () => ({ data: { rpId: 'bank.example' } })],
    ['without the person', notRight, () => ({ data: { flags: verified | attested } })],
    ['without verification of the user', notRight, () => unverified],
    ['without a credential', notRight, () => ({ data: { flags: present | verified } })],
    [
      'of a credential that is copied',
      'the credential can be copied to other devices',
      () => ({ data: { flags: present | verified | attested | mayBackUp } }),
    ],
    [
      'of the format none',
      noHardware,
      () => ({ format: 'none', statement: { alg: undefined, sig: undefined, x5c: undefined } }),
    ],
    ['of the format fido-u2f', noHardware, () => ({ format: 'fido-u2f' })],
    ['of the format apple', noHardware, () => ({ format: 'apple' })],
    ['that the credential attests itself', noneInside, () => ({ statement: { x5c: undefined } })],
    ['with an empty chain', noneInside, () => ({ statement: { x5c: [] } })],
    ['with a chain of texts', noneInside, () => ({ statement: { x5c: ['MIIC'] } })],
    ['with a statement by SHA-1', 'a signature is too weak', () => ({ statement: { alg: -65_535 } })],
    ['with a statement without a signature', notRight, () => ({ statement: { sig: undefined } })],
    [
      'with a statement by another key',
      'the signature is wrong',
      async () => ({ signer: await createCertificateKeys() }),
    ],
    [
      'of another authenticator with the same name',
      untrusted,
      async () => ({ by: await createCertificateAuthority({ subject: [{ CN: ['Test keys root'] }] }) }),
    ],
    ['whose certificate has expired', 'it has expired', () => ({ leaf: { notAfter: new Date(Date.now() - 60_000) } })],
    ['whose certificate is an authority', 'it is the certificate of an authority', () => ({ leaf: { ca: true } })],
    [
      'whose certificate is for something else',
      notRight,
      () => ({ leaf: { subject: [{ C: ['DE'] }, { O: ['x'] }, { OU: ['Servers'] }, { CN: ['x'] }] } }),
    ],
    [
      'of another model than the certificate says',
      notRight,
      () => ({ leaf: { more: [sayModel(model.replace('0102', 'ffff'))] } }),
    ],
    ['under the id of another credential', 'the id is of another credential', () => ({ credential: { id: 'x' } })],
    ['without an id', 'credential is no answer of a registration', () => ({ credential: { id: 1 } })],
    ['without an answer', 'credential is no answer of a registration', () => ({ credential: { response: null } })],
    [
      'with client data that is no text',
      'credential is no answer of a registration',
      () => ({ credential: { response: { clientDataJSON: {}, attestationObject: 'x' } } }),
    ],
    [
      'with client data that is no JSON',
      notRight,
      () => ({ credential: { response: { clientDataJSON: 'x', attestationObject: 'x' } } }),
    ],
  ]
  it.each(rows)('%s is refused', async (_name, reason, request) => {
    expect(await askFor(await request())).toEqual(refused(reason))
  })
  it('of a model that the policy does not list is refused', async () => {
    expect(await askFor({}, { aaguids: [model.replace('0102', 'ffff')] })).toEqual(refused('the model is another one'))
  })

  it('that is truncated, deeply nested or made of promises is refused, without another error', async () => {
    const whole = await authenticator.register({ challenge, jkt })
    const response = whole['response'] as Record<string, string>
    const withObject = (object: Buffer) =>
      ask({ ...whole, response: { ...response, attestationObject: object.toString('base64url') } })
    const object = Buffer.from(response['attestationObject'] ?? '', 'base64url')
    for (let length = 1; length < object.length; length += 23)
      expect(await withObject(object.subarray(0, length))).toMatchObject({ ok: false })
    for (const one of [Buffer.alloc(10_000, 0x81), Buffer.from('bbffffffffffffffff', 'hex'), Buffer.of(0xf6)])
      expect(await withObject(one)).toEqual(refused(notRight))
  })
  it.each([undefined, null, 'text', [], 7])('that is %j is not a registration', async (credential) => {
    expect(await ask(credential)).toEqual(refused('credential is no answer of a registration'))
  })
})

it.each<readonly [string, Json]>([
  ['no level', { key_storage: undefined, user_authentication: undefined }],
  ['an origin with a path', { origins: [`${origin}/`] }],
  ['no origin', { origins: [] }],
  ['a model that is none', { aaguids: ['yubikey'] }],
  ['a root that is none', { roots: ['x'] }],
])('%s is reported as an option mistake', async (_name, changes) => {
  await expect(askFor({}, changes)).rejects.toThrow('options')
})
