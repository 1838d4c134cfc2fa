import { beforeAll, describe, expect, it } from 'vitest'
import plugin from '../../plugins/attestation/evidence-apple-app-attest/index.js'
import { appleRoot } from '../../plugins/attestation/evidence-apple-app-attest/apple-root.js'
import { createCertificateAuthority, createCertificateKeys } from '../support/forge/certificates.js'
import { X509Certificate } from 'node:crypto'
import { askEvidence, challenge, jkt } from '../support/clients/ask-evidence.js'
import {
  appId,
  createAppleDevice,
  development,
  production,
  type AppleDevice,
  type AttestKeyRequest,
} from '../support/forge/apple-device.js'
import { flags } from '../support/forge/authenticator-data.js'

// Apple is a double here (test/support/forge/apple-device.ts): no device signs for a test.

type Json = Record<string, unknown>

let phone: AppleDevice
beforeAll(async () => {
  phone = await createAppleDevice()
})

const ask = (attestation_object: unknown, changes: Json = {}) =>
  askEvidence(
    plugin,
    { roots: [phone.root.pem], app_ids: [appId], key_storage: ['iso_18045_high'], ...changes },
    { attestation_object },
  )
const askFor = async (request: Partial<AttestKeyRequest>, changes: Json = {}) =>
  ask(await phone.attestKey({ challenge, jkt, ...request }), changes)
const refused = (reason: string) => ({ ok: false, reason: `apple app attest: ${reason}` })
const accepted = { ok: true, keyStorage: ['iso_18045_high'] }

it('an application of the deployer is accepted in the required environment', async () => {
  expect(await askFor({})).toEqual({ ...accepted, details: { app_id: appId, environment: 'production' } })
  const settings = { environment: 'development', app_ids: ['A1B2C3D4E5.other', appId] }
  expect(await askFor({ data: { aaguid: development } }, settings)).toMatchObject(accepted)
})

it("the default root is Apple's", async () => {
  const root = new X509Certificate(appleRoot)
  expect(root.subject).toBe('CN=Apple App Attestation Root CA\nO=Apple Inc.\nST=California')
  expect(root.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(
    '1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932',
  )
  expect(root.verify(root.publicKey)).toBe(true)
  expect(await askFor({}, { roots: undefined })).toEqual(refused('no trust anchor has issued it'))
})

describe('EV14: an attestation of Apple', () => {
  const aWhile = () => new Date(Date.now() - 60_000)
  const rows: readonly (readonly [
    string,
    string,
    () => Promise<Partial<AttestKeyRequest>> | Partial<AttestKeyRequest>,
  ])[] = [
    ['for another challenge', 'it is for another challenge or key', () => ({ challenge: 'd'.repeat(72) })],
    ['for another key', 'it is for another challenge or key', () => ({ jkt: 'x'.repeat(43) })],
    [
      'for the statement cut elsewhere',
      'it is for another challenge or key',
      () => ({ challenge: `${challenge}.${jkt.slice(0, 5)}`, jkt: jkt.slice(5) }),
    ],
    ['without the nonce', 'it is for another challenge or key', () => ({ extension: null })],
    ['with the bare nonce', 'it is for another challenge or key', () => ({ extension: (nonce) => nonce })],
    [
      'with more behind the nonce',
      'it is for another challenge or key',
      () => ({ extension: (nonce) => Buffer.concat([Buffer.from('3024a1220420', 'hex'), nonce, Buffer.of(5, 0)]) }),
    ],
    ['of another application', 'the application is another one', () => ({ data: { rpId: 'A1B2C3D4E5.com.other' } })],
    ['of another team', 'the application is another one', () => ({ data: { rpId: 'Z9Z9Z9Z9Z9.com.bank.example' } })],
    ['for development', 'it is not of the production environment', () => ({ data: { aaguid: development } })],
    ['of nowhere', 'it is not of the production environment', () => ({ data: { aaguid: Buffer.alloc(16) } })],
    ['of a key that was used', 'the key was used before', () => ({ data: { counter: 1 } })],
    [
      'with the id of another key',
      'the key id is of another key',
      () => ({ data: { credentialId: Buffer.alloc(32, 7) } }),
    ],
    ['with a longer id', 'the key id is of another key', () => ({ data: { credentialId: Buffer.alloc(33, 7) } })],
    [
      'with another key in the certificate',
      'the key id is of another key',
      async () => ({ leaf: { keys: await createCertificateKeys() } }),
    ],
    [
      'with a key that is not P-256',
      'the key id is of another key',
      async () => ({ leaf: { keys: await createCertificateKeys('RS256') } }),
    ],
    ['that has expired', 'it has expired', () => ({ leaf: { notAfter: aWhile() } })],
    ['without its authority', 'no trust anchor has issued it', () => ({ chain: [] })],
    [
      'under another root of the same name',
      'no trust anchor has issued it',
      async () => ({ by: await createCertificateAuthority({ subject: [{ CN: ['Test App Attestation Root CA'] }] }) }),
    ],
    ['of another format', 'attestation_object is none', () => ({ object: { fmt: 'packed' } })],
    ['without a statement', 'attestation_object is none', () => ({ object: { attStmt: undefined } })],
    ['without a chain', 'attestation_object is none', () => ({ object: { attStmt: new Map() } })],
    [
      'with a chain of texts',
      'attestation_object is none',
      () => ({ object: { attStmt: new Map([['x5c', ['MIIC']]]) } }),
    ],
    ['with an empty chain', 'there is no certificate', () => ({ object: { attStmt: new Map([['x5c', []]]) } })],
    ['without authenticator data', 'attestation_object is none', () => ({ object: { authData: undefined } })],
    ['with data cut short', 'attestation_object is none', () => ({ object: { authData: new Uint8Array(36) } })],
    ['without a credential', 'attestation_object is none', () => ({ object: { authData: new Uint8Array(37) } })],
  ]
  it.each(rows)('%s is refused', async (_name, reason, request) => {
    expect(await askFor(await request())).toEqual(refused(reason))
  })

  it('for production is refused where development is required', async () => {
    expect(await askFor({ data: { aaguid: production } }, { environment: 'development' })).toEqual(
      refused('it is not of the development environment'),
    )
  })

  it('whose key reports user presence is checked like any other', async () => {
    expect(await askFor({ data: { flags: flags.attested | flags.present } })).toMatchObject(accepted)
  })

  it('truncated anywhere is refused, without another error', async () => {
    const whole = Buffer.from(await phone.attestKey({ challenge, jkt }), 'base64')
    for (let length = 1; length < whole.length; length += 23)
      expect(await ask(whole.subarray(0, length).toString('base64'))).toMatchObject({ ok: false })
  })

  it('with inserted bytes, or too long, is refused although it is otherwise valid', async () => {
    const whole = await phone.attestKey({ challenge, jkt })
    const long = await phone.attestKey({ challenge, jkt, object: { more: new Uint8Array(20_000) } })
    for (const one of [`${whole}*`, `\n${whole}`, long])
      expect(await ask(one)).toEqual(refused('attestation_object is none'))
  })

  it.each([
    ['missing', undefined],
    ['a list', []],
    ['no base64', '*'],
    ['nested deep', Buffer.alloc(10_000, 0x81).toString('base64')],
    ['a map that promises too much', Buffer.from('bbffffffffffffffff', 'hex').toString('base64')],
    ['too long', 'A'.repeat(24_577)],
  ])('%s is not an attestation', async (_name, object) => {
    expect(await ask(object)).toEqual(refused('attestation_object is none'))
  })
})

it.each<readonly [string, Json]>([
  ['no application', { app_ids: [] }],
  ['an application without a team', { app_ids: ['com.bank.example'] }],
  ['an environment that there is not', { environment: 'sandbox' }],
  ['a root that is none', { roots: ['x'] }],
  ['a level that is none', { key_storage: ['high'] }],
])('%s is reported as an option mistake', async (_name, changes) => {
  await expect(askFor({}, changes)).rejects.toThrow('options')
})
