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
import { createCertificateAuthority, createCertificateKeys } from '../support/forge/certificates.js'
import { aikCertificate, tpmStatement, type TpmRequest } from '../support/forge/tpm.js'

// The TPM is a double here (test/support/forge/tpm.ts): its statement is a real one, made in software.

type Json = Record<string, unknown>

let authenticator: Authenticator
beforeAll(async () => {
  authenticator = await createAuthenticator()
})

const ask = async (tpm: TpmRequest = {}, request: Partial<RegistrationRequest> = {}) => {
  const levels = { key_storage: ['https://bank.example/keys/1'] }
  const options: Json = { roots: [authenticator.root.pem], rp_id: rpId, origins: [origin], ...levels }
  const asTpm = { format: 'tpm', makeStatement: tpmStatement(tpm), leaf: aikCertificate(model) }
  const credential = await authenticator.register({ challenge, jkt, ...asTpm, ...request })
  return askEvidence(plugin, options, { credential })
}
const refused = (reason: string) => ({ ok: false, reason: `webauthn: ${reason}` })
const notRight = 'the statement is not right'

it('a TPM of a manufacturer that the deployer trusts is accepted', async () => {
  expect(await ask()).toMatchObject({ ok: true, details: { aaguid: model, format: 'tpm', user_verified: true } })
})

describe('EV16: a TPM', () => {
  type Made = readonly [TpmRequest, Partial<RegistrationRequest>?]
  const rows: readonly (readonly [string, string, () => Made | Promise<Made>])[] = [
    [
      'that certifies another key',
      notRight,
      async () => [{ certified: (await createCertificateAuthority()).publicJwk }],
    ],
    ['that names another key', notRight, () => [{ name: Buffer.concat([Buffer.of(0, 11), Buffer.alloc(32)]) }]],
    ['that certifies another registration', notRight, () => [{ extraData: Buffer.alloc(32) }]],
    ['that did not make the statement itself', notRight, () => [{ magic: 0xff54_4348 }]],
    ['that quotes instead of certifying', notRight, () => [{ type: 0x8018 }]],
    ['of another version', notRight, () => [{}, { statement: { ver: '1.2' } }]],
    ['without its public area', notRight, () => [{}, { statement: { pubArea: undefined } }]],
    ['without what it certifies', notRight, () => [{}, { statement: { certInfo: undefined } }]],
    ['whose statement is cut short', notRight, () => [{}, { statement: { certInfo: new Uint8Array(20) } }]],
    ['whose key is another one', 'the signature is wrong', async () => [{ signer: await createCertificateKeys() }]],
    ['by SHA-1', 'a signature is too weak', () => [{}, { statement: { alg: -65_535 } }]],
    [
      'whose certificate is for something else',
      notRight,
      () => [{}, { leaf: aikCertificate(model, { eku: ['1.3.6.1.5.5.7.3.1'] }) }],
    ],
    [
      'whose certificate names no TPM',
      notRight,
      () => [{}, { leaf: aikCertificate(model, { more: [sayModel(model)] }) }],
    ],
    [
      'whose certificate has a subject',
      notRight,
      () => [{}, { leaf: aikCertificate(model, { subject: [{ CN: ['x'] }] }) }],
    ],
    [
      'of a manufacturer whom nobody trusts',
      'no trust anchor has issued it',
      async () => [{}, { by: await createCertificateAuthority() }],
    ],
  ]
  it.each(rows)('%s is refused', async (_name, reason, make) => {
    expect(await ask(...(await make()))).toEqual(refused(reason))
  })
})
