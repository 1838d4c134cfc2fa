import { createHash } from 'node:crypto'
import type { PublicJwk } from '../../core/api/signer.js'
import plugin from '../../plugins/attestation/evidence-certificate-chain/index.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeJws, postJson, type Device } from '../support/clients/attestation.js'
import {
  createCertificateAuthority,
  createCertificateKeys,
  x509,
  type CertificateAuthority,
  type CertificateKeys,
  type CertificateRequest,
  type IssuedCertificate,
} from '../support/forge/certificates.js'
import { x5cOf } from '../support/forge/android-key.js'
import { startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

// A service proves that its key is in the HSM of a vendor whose roots the deployer names.

type Json = Record<string, unknown>

const usage = '2.23.133.8.3'
const serialNumber = '1.3.6.1.4.1.41482.4.2'

let root: CertificateAuthority
let unit: CertificateAuthority
let stolen: CertificateAuthority
let keys: CertificateKeys
let device: Device
let server: AttestationServer
let options: Json
beforeAll(async () => {
  root = await createCertificateAuthority({ subject: [{ CN: ['HSM vendor'] }] })
  unit = await root.intermediate({ subject: [{ CN: ['HSM 7'] }] })
  stolen = await root.intermediate({ subject: [{ CN: ['HSM 8'] }] })
  keys = await createCertificateKeys()
  options = {
    roots: [root.pem],
    extended_key_usages: [usage],
    extensions: [serialNumber],
    revoked: [createHash('sha256').update(stolen.der).digest('hex')],
    key_storage: ['iso_18045_high'],
  }
  const use = 'plugins/attestation/evidence-certificate-chain'
  server = await startAttestationServer({
    section: { require_evidence: ['service'] },
    configure: (written) => ({ ...written, plugins: [...(written['plugins'] as Json[]), { use, options }] }),
  })
  device = await server.device({ principal_type: 'service', principal_id: 'signer-1' }, keys)
})
afterAll(() => server[Symbol.asyncDispose]())

const extension = () => new x509.Extension(serialNumber, false, new Uint8Array([2, 1, 7]))
const issue = (request: CertificateRequest = {}, by = unit) =>
  by.issue({ keys, eku: [usage], more: [extension()], ...request })

interface Wishes {
  readonly leaf?: IssuedCertificate
  readonly chain?: readonly IssuedCertificate[]
  readonly header?: Json
  readonly payload?: Json
  readonly proof?: unknown
}
const challenge = 'c'.repeat(72)

const evidenceFor = async (value: string, { leaf, chain = [unit], header = {}, payload = {}, proof }: Wishes = {}) => {
  const claims = { challenge: value, aud: server.issuer, ...payload }
  const signed = await device.sign(claims, { alg: 'ES256', typ: 'evidence-proof+jws', ...header })
  return { x5c: x5cOf(leaf ?? (await issue()), ...chain), proof: proof ?? signed }
}

/** What the plugin says, without a server: the audit log puts refusals of one moment into one line. */
const ask = async (wishes: Wishes = {}) => {
  const checked = await plugin.options?.['~standard'].validate(options)
  if (checked === undefined || !('value' in checked)) throw new Error('wrong options')
  const made = await plugin.create(checked.value, { clock: Date.now, issuer: server.issuer })
  const { jwk, jkt } = device
  const { signal } = new AbortController()
  const principal = { subject: 'alice', principalId: 'signer-1', principalType: 'service' } as const
  const context = { principal, jwk: jwk as unknown as PublicJwk, jkt, challenge, signal }
  return made.evidence?.[0]?.verify(context, (await evidenceFor(challenge, wishes)) as never)
}

const refused = (reason: string) => ({ ok: false, reason: `certificate chain: ${reason}` })

it('a key certified by the HSM enrols and renews', async () => {
  const value = String((await postJson(`${server.issuer}/challenge`, {})).body['attestation_challenge'])
  const evidence = { kind: 'certificate_chain', challenge: value, ...(await evidenceFor(value)) }
  const answer = await device.enrol({ evidence })
  expect(answer.status, answer.text).toBe(200)
  const completed = await device.complete(answer.body['challenge'])
  const attestation = String(completed.body['attestation'])
  for (const one of [attestation, await device.renew(attestation)])
    expect(decodeJws(one).payload['key_storage']).toEqual(['iso_18045_high'])
})

describe('EV12: a chain of a vendor', () => {
  const rows: readonly (readonly [string, string, () => Promise<Wishes>])[] = [
    [
      'without the extended key usage',
      'it has not the extended key usage that is asked for',
      async () => ({ leaf: await issue({ eku: null }) }),
    ],
    [
      'under an authority that is for another usage',
      'an authority is not for the extended key usage that is asked for',
      async () => {
        const other = await root.intermediate({ eku: ['1.3.6.1.5.5.7.3.1'] })
        return { leaf: await issue({}, other), chain: [other] }
      },
    ],
    ['without the extension', 'an extension is missing', async () => ({ leaf: await issue({ more: [] }) })],
    [
      'of another key',
      'it is about another key',
      async () => ({ leaf: await issue({ keys: await createCertificateKeys() }) }),
    ],
    [
      'with a revoked certificate',
      'a certificate is revoked',
      async () => ({ leaf: await issue({}, stolen), chain: [stolen] }),
    ],
    [
      'to another root',
      'no trust anchor has issued it',
      async () => {
        const other = await createCertificateAuthority({ subject: [{ CN: ['HSM vendor'] }] })
        return { leaf: await issue({}, other), chain: [other] }
      },
    ],
    [
      'that has expired',
      'it has expired',
      async () => ({ leaf: await issue({ notAfter: new Date(Date.now() - 60_000) }) }),
    ],
  ]
  it.each(rows)('%s is refused', async (_name, reason, wishes) => {
    expect(await ask(await wishes())).toEqual(refused(reason))
  })
})

describe('EV13: a proof', () => {
  it.each(spellingsOf('evidence-proof+jws'))('of the type %s is read', async (typ) => {
    expect(await ask({ header: { typ } })).toMatchObject({ ok: true })
  })

  it.each<readonly [string, string, Wishes]>([
    ['over another challenge', 'the proof is for another challenge', { payload: { challenge: 'x' } }],
    ['for another issuer', 'the proof is for another issuer', { payload: { aud: 'https://other.example' } }],
    ['without an audience', 'the proof is for another issuer', { payload: { aud: undefined } }],
    ['of another type', 'alg or typ of the proof is wrong', { header: { typ: 'enrol-proof+jws' } }],
    ['with another algorithm', 'alg or typ of the proof is wrong', { header: { alg: 'HS256' } }],
    ['that is text', 'the proof is no compact JWS', { proof: 'x' }],
    ['that is a list', 'the proof is no compact JWS', { proof: [] }],
    ['that is too long', 'the proof is no compact JWS', { payload: { more: 'x'.repeat(2000) } }],
  ])('%s is refused', async (_name, reason, wishes) => {
    expect(await ask(wishes)).toEqual(refused(reason))
  })
  it('by another key is refused', async () => {
    const thief = await server.device()
    const proof = await thief.sign({ challenge, aud: server.issuer }, { alg: 'ES256', typ: 'evidence-proof+jws' })
    expect(await ask({ proof })).toEqual(refused('the proof is not by the key'))
  })
})
