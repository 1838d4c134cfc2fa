import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice, decodeJws, postJson, withAttestation } from '../support/clients/attestation.js'
import { startServer, type TestServer } from '../support/server/server.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    configure: withAttestation({ attestation_ttl_secs: 3600, attestation_reissue_after_secs: 1800 }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const verify = (attestation: string) =>
  jwtVerify(attestation, createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`)), {
    typ: 'device-attestation+jwt',
    issuer: server.issuer,
  })

it('enrols a device with exactly the documented members, verified with the published key', async () => {
  const device = await createDevice(server.issuer, { attributes: { model: 'P1', os: { name: 'A', major: 14 } } })
  const enrolled = await device.enrol()
  expect(enrolled.status).toBe(200)
  expect(enrolled.body).toEqual({ challenge: expect.stringMatching(/^[\w-]{43}$/), expires_in: 300 })
  const completed = await device.complete(enrolled.body['challenge'])
  expect(completed.status).toBe(200)
  const { attestation, ...rest } = completed.body
  expect(rest).toEqual({ expires_in: 3600, reissue_after: 1800 })

  const { payload, protectedHeader } = await verify(String(attestation))
  expect(protectedHeader).toEqual({ alg: 'ES256', kid: 'es256', typ: 'device-attestation+jwt' })
  expect(Object.keys(payload)).toEqual('iss sub iat nbf exp jti cnf did principal_type att'.split(' '))
  const { iat = 0 } = payload
  expect(payload).toEqual({
    iss: server.issuer,
    sub: 'alice',
    iat,
    nbf: iat,
    exp: iat + 3600,
    jti: expect.stringMatching(/^[0-9a-z]+\.[\w-]{22}$/),
    cnf: { jkt: device.jkt },
    did: 'phone-1',
    principal_type: 'device',
    att: { model: 'P1', os: { name: 'A', major: 14 }, status: 'active' },
  })
})

it('renews with new times and a new id, and keeps the time of enrolment', async () => {
  const device = await createDevice(server.issuer, { principal_type: 'service', principal_id: 'batch' })
  const first = await device.attest()
  const second = await device.renew(first)
  const [before, after] = [decodeJws(first).payload, decodeJws(second).payload]
  expect((await verify(second)).payload).toEqual(after)
  const still = ({ iss, sub, cnf, did, principal_type, att }: Record<string, unknown>) => [
    iss,
    sub,
    cnf,
    did,
    principal_type,
    att,
  ]
  expect(still(after)).toEqual(still(before))
  expect(after['jti']).not.toBe(before['jti'])
  expect(String(after['jti']).split('.')[0]).toBe(String(before['jti']).split('.')[0])
})

it('attributes may be omitted', async () => {
  const device = await createDevice(server.issuer)
  const { body } = await device.enrol({ attributes: undefined })
  const completed = await device.complete(body['challenge'])
  expect(decodeJws(String(completed.body['attestation'])).payload['att']).toEqual({ status: 'active' })
})

it('issues challenges for evidence', async () => {
  const [one, other] = [
    await postJson(`${server.issuer}/challenge`, {}),
    await fetch(`${server.issuer}/challenge`, { method: 'POST' }),
  ]
  expect(one.status).toBe(200)
  expect(one.body).toEqual({ attestation_challenge: expect.stringMatching(/^[\w-]{72}$/) })
  expect(one.headers.get('cache-control')).toBe('no-store')
  expect((await other.json()) as object).not.toEqual(one.body)
})

it('writes every step to the audit log, without the factor or the challenge', async () => {
  const device = await createDevice(server.issuer, { subject: 'bob' })
  const challenge = await device.challenge()
  const attestation = String((await device.complete(challenge)).body['attestation'])
  await device.enrol({ second_factor: { kind: 'word', value: 'a wrong word' } })
  const lines = (await server.audit()).filter((line) => line['sub'] === 'bob')
  expect(lines.map(({ event }) => event)).toEqual([
    'attestation.challenged',
    'attestation.signed',
    'attestation.issued',
    'attestation.refused',
  ])
  const who = { sub: 'bob', did: 'phone-1', principal_type: 'device', jkt: device.jkt, step: 'enrolment' }
  for (const line of lines) expect(line).toMatchObject(who)
  const { jti, exp } = decodeJws(attestation).payload
  expect(lines[0]).toMatchObject({ factor: 'word' })
  expect(lines[1]).toMatchObject({ jti, signatures: [{ kid: 'es256', purpose: 'attestation' }] })
  expect(lines[2]).toMatchObject({ jti, exp })
  expect(lines[3]).toMatchObject({ factor: 'word', error_code: 'SecondFactorFailed', reason: 'wrong word' })
  const text = JSON.stringify(lines)
  for (const secret of [challenge, attestation, 'right', 'a wrong word']) expect(text).not.toContain(secret)
})

it('does not exist without the section', async () => {
  await using plain = await startServer()
  for (const path of ['/enrol', '/enrol/complete', '/reissue', '/challenge'])
    expect((await postJson(plain.issuer + path, {})).status).toBe(404)
})
