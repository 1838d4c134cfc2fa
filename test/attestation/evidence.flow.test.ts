import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeJws, postJson } from '../support/clients/attestation.js'
import {
  createAndroidPhone,
  describeKey,
  packageName,
  signatureDigest,
  x5cOf,
  type AndroidPhone,
} from '../support/forge/android-key.js'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'

// A phone enrols with the attestation of its key, from /challenge to a renewal.

type Json = Record<string, unknown>

let phone: AndroidPhone
let server: AttestationServer
beforeAll(async () => {
  phone = await createAndroidPhone()
  const use = 'plugins/attestation/evidence-android-key'
  const options = {
    roots: [phone.root.pem],
    revocation_list: '{"entries":{}}',
    packages: [{ name: packageName, signature_digests: [signatureDigest] }],
    security_levels: { trusted_environment: { key_storage: ['iso_18045_moderate'] } },
  }
  server = await startAttestationServer({
    section: { require_evidence: ['device'] },
    configure: (written) => ({ ...written, plugins: [...(written['plugins'] as Json[]), { use, options }] }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const newChallenge = async (): Promise<string> =>
  String((await postJson(`${server.issuer}/challenge`, {})).body['attestation_challenge'])

describe('a phone', () => {
  it('whose key is in its TEE enrols and renews', async () => {
    const device = await server.device({}, phone.keys)
    const challenge = await newChallenge()
    const leaf = await phone.issue(describeKey({ challenge }))
    const evidence = { kind: 'android_key', challenge, x5c: x5cOf(leaf, phone.batch, phone.root) }
    const enrolled = await device.enrol({ evidence })
    expect(enrolled.status, enrolled.text).toBe(200)
    const completed = await device.complete(enrolled.body['challenge'])
    const attestation = String(completed.body['attestation'])
    for (const one of [attestation, await device.renew(attestation)])
      expect(decodeJws(one).payload).toMatchObject({ key_storage: ['iso_18045_moderate'], cnf: { jkt: device.jkt } })
    expectNamed(await device.enrol({ evidence }), 'EvidenceInvalid')
  })
  it('with the evidence of another phone does not', async () => {
    const device = await server.device()
    const challenge = await newChallenge()
    const leaf = await phone.issue(describeKey({ challenge }))
    const evidence = { kind: 'android_key', challenge, x5c: x5cOf(leaf, phone.batch) }
    expectNamed(await device.enrol({ evidence }), 'EvidenceInvalid')
  })
  it('without evidence does not, but a service does if the policy is for devices', async () => {
    const device = await server.device()
    expectNamed(await device.enrol(), 'EvidenceRequired')
    const service = await server.device({ principal_type: 'service', principal_id: 'batch' })
    expect(decodeJws(await service.attest()).payload).not.toHaveProperty('key_storage')
  })
})
