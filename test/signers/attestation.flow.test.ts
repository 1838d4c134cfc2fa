import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose'
import { expect, it } from 'vitest'
import { createDevice, withAttestation } from '../support/clients/attestation.js'
import { startKmsDouble } from '../../core/testing/kms-double/index.js'
import { startServer, type TestServer } from '../support/server/server.js'
import { key, startReloadServer } from '../support/server/reloading.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken, openProvider } from '../support/signers/softhsm/token.js'

type Json = Record<string, unknown>

/** The attestation key in a backend of its own: tokens stay with the local one. */
const withOwnSigner = (signer: Json, ref: string) => (written: Json) => ({
  ...withAttestation()(written),
  signers: { ...(written['signers'] as Json), own: signer },
  keys: [
    { kid: 'tokens', alg: 'ES256', signer: 'local', ref: 'es256.pem', purposes: ['access_token', 'id_token'] },
    { kid: 'attestations', alg: 'ES256', signer: 'own', ref, purposes: ['attestation'] },
  ],
})

const keySet = async (issuer: string) =>
  createLocalJWKSet((await (await fetch(`${issuer}/jwks.json`)).json()) as JSONWebKeySet)

const ceremony = async ({ issuer, audit }: TestServer): Promise<readonly Json[]> => {
  const device = await createDevice(issuer)
  const attestation = await device.attest()
  const renewed = await device.renew(attestation)
  const keys = await keySet(issuer)
  for (const token of [attestation, renewed]) {
    const { payload } = await jwtVerify(token, keys, { issuer, typ: 'device-attestation+jwt' })
    expect(payload).toMatchObject({ cnf: { jkt: device.jkt }, att: { status: 'active' } })
    expect(decodeProtectedHeader(token).kid).toBe('attestations')
  }
  const lines = await audit()
  return lines.flatMap(({ event, signatures }) => (event === 'attestation.signed' ? (signatures as Json[]) : []))
}

describeWith('softhsm2', 'the attestation key in an HSM', () => {
  it('signs the ceremony, with tokens on another key', async () => {
    await using token = await makeToken()
    await using provider = await openProvider(token)
    await provider.create?.('attestation', 'ES256', AbortSignal.timeout(10_000))
    const options = { module: token.module, token: token.label, pin: token.pin, environment: token.environment }
    const configure = withOwnSigner({ use: 'signers/pkcs11', options }, 'pkcs11:object=attestation')
    await using server = await startServer({ configure })
    const signatures = await ceremony(server)
    expect(signatures).toHaveLength(2)
    for (const signature of signatures)
      expect(signature).toMatchObject({ kid: 'attestations', signer: 'own', purpose: 'attestation' })
  })
})

it('the attestation key in a KMS signs the ceremony; each signature is found in its log', async () => {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'AKIADOUBLE'
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'the double does not look at it'
  await using kms = await startKmsDouble()
  const { arn } = await kms.createKey('ECC_NIST_P256')
  const options = { region: 'eu-central-1', endpoint: kms.endpoint }
  await using server = await startServer({ configure: withOwnSigner({ use: 'signers/aws-kms', options }, arn) })
  const signatures = await ceremony(server)
  expect(signatures.map(({ reference }) => reference)).toEqual([
    expect.stringMatching(/^[0-9a-f-]{36}$/),
    expect.stringMatching(/^[0-9a-f-]{36}$/),
  ])
})

it('row 40: after a rotation the retired key still verifies, in the key set and at /reissue, and no longer when it is gone', async () => {
  const begun = Math.floor(Date.now() / 1000) * 1000
  const hour = 3_600_000
  let now = begun
  const changeAt = new Date(begun + 2 * hour).toISOString()
  const purposes = ['attestation']
  await using server = await startServer({
    clock: () => now,
    configure: (written) => ({
      ...withAttestation()(written),
      keys: [
        key('tokens', { purposes: ['access_token', 'id_token'] }),
        key('old', { purposes, not_after: changeAt }),
        key('new', { purposes, not_before: changeAt }),
      ],
    }),
  })
  const { issuer } = server
  const device = await createDevice(issuer)
  const old = await device.attest()
  expect(decodeProtectedHeader(old).kid).toBe('old')
  const verify = async (token: string) =>
    (await jwtVerify(token, await keySet(issuer), { issuer, currentDate: new Date(now) })).protectedHeader.kid

  now = begun + 23 * hour
  expect(await verify(old)).toBe('old')
  const renewed = await device.renew(old)
  expect(decodeProtectedHeader(renewed).kid).toBe('new')
  expect(await verify(renewed)).toBe('new')

  now = begun + 24 * hour
  expect((await device.reissue(old)).body['error_code']).toBe('AttestationInvalid')
  now = begun + 27 * hour
  const { keys } = (await (await fetch(`${issuer}/jwks.json`)).json()) as JSONWebKeySet
  expect(keys.map(({ kid }) => kid)).toEqual(['tokens', 'new'])
  await device.renew(renewed)
})

it('a reload brings another key: old attestations are renewed under it, until their key is taken away', async () => {
  await using server = await startReloadServer({ configure: withAttestation() })
  const device = await createDevice(server.issuer)
  const old = await device.attest()
  const [old256] = await server.kids()
  const fresh = key('fresh', { purposes: ['attestation'], allow_early: true })
  await server.edit((written) => ({ ...written, keys: [fresh, ...(written['keys'] as Json[])] }))
  expect(await server.reload()).toMatchObject({ status: 200 })
  const renewed = await device.renew(old)
  expect(decodeProtectedHeader(renewed).kid).toBe('fresh')
  expect(decodeProtectedHeader(old).kid).toBe(old256)

  // An emergency: every attestation under it needs a full enrolment.
  await server.edit((written) => ({
    ...written,
    keys: (written['keys'] as Json[]).filter(({ kid }) => kid !== 'fresh'),
  }))
  expect((await server.reload()).status).toBe(400)
  await device.renew(renewed)
  expect(await server.reload({ force: 'true' })).toMatchObject({ status: 200 })
  expect((await device.reissue(renewed)).body['error_code']).toBe('AttestationInvalid')
  await device.renew(await device.attest())
})
