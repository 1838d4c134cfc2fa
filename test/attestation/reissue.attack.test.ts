import { generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decodeJws, type Device } from '../support/clients/attestation.js'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { forge } from '../support/forge/forge.js'

// Most of these attestations are signed with the issuer's own key, so that nothing but the rule under test can refuse them.

type Json = Record<string, unknown>

let server: AttestationServer
let key: KeyObject
let device: Device
let attestation: string
beforeAll(async () => {
  server = await startAttestationServer({ status: true })
  key = await server.host.key()
})
beforeEach(async () => {
  device = await server.device()
  attestation = await device.attest()
  server.double.reset()
})
afterEach(() => server.expectGood())
afterAll(() => server[Symbol.asyncDispose]())

const now = () => Math.floor(server.host.now() / 1000)

/** An attestation that differs from a good one in what is given; `undefined` leaves a member out. */
const changed = (claims: Json, header: Json = {}): string => {
  const good = decodeJws(attestation)
  return forge(key, { ...good.header, ...header }, { ...good.payload, ...claims })
}

/** Refused before the key is touched and before anybody is asked. */
const expectInvalid = async (token: string): Promise<void> => {
  expectNamed(await device.reissue(token), 'AttestationInvalid')
  expectNamed(await device.reissue(token, { public_jwk: {} }), 'AttestationInvalid')
  expect(server.double.questions).toHaveLength(0)
}

it('the forgery is as good as an attestation of ours while nothing in it is wrong', async () => {
  expect((await device.reissue(changed({}))).status).toBe(200)
})

describe('row 19: in time', () => {
  it('expired: no grace, although clocks may differ', async () => {
    for (const exp of [now(), now() - 1, now() - 3600, 0]) await expectInvalid(changed({ exp }))
    for (const exp of [undefined, null, 'soon', 1.5, -1]) await expectInvalid(changed({ exp }))
    expect((await device.reissue(changed({ exp: now() + 30 }))).status).toBe(200)
  })

  it('expired on the clock', async () => {
    const old = await device.attest()
    const end = Number(decodeJws(old).payload['exp']) * 1000
    server.host.later(end - 1000 - server.host.now())
    expect((await device.reissue(old)).status).toBe(200)
    server.host.later(1000)
    expectNamed(await device.reissue(old), 'AttestationInvalid')
    attestation = await device.attest()
    server.double.reset()
  })

  it('expired within reissue_grace_secs: renewed as usual, and not a second later', async () => {
    await using patient = await startAttestationServer({ section: { reissue_grace_secs: 3600 }, status: true })
    const own = await patient.device()
    const old = await own.attest()
    patient.host.later(86_400_000 + 3_598_000)
    expectNamed(await (await patient.device()).reissue(old), 'KeyNotBound')
    patient.double.current = () => undefined
    expectNamed(await own.reissue(old), 'PrincipalRevoked')
    patient.double.reset()
    await own.renew(old)
    patient.host.later(2000)
    expectNamed(await own.reissue(old), 'AttestationInvalid')
  })

  it('from the future', async () => {
    await expectInvalid(changed({ iat: now() + 3600 }))
    await expectInvalid(changed({ nbf: now() + 3600 }))
    await expectInvalid(changed({ iat: undefined }))
  })
})

describe('row 22 and 23: signed by another key, or in another way', () => {
  it('another issuer', async () => {
    for (const iss of [
      'https://evil.example',
      `${server.issuer}/`,
      server.issuer.toUpperCase(),
      undefined,
      null,
      [server.issuer],
    ])
      await expectInvalid(changed({ iss }))
  })

  it('another key, another kid, keys in the header', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { header, payload } = decodeJws(attestation)
    const jwk = publicKey.export({ format: 'jwk' })
    for (const more of [{}, { jwk }, { jku: 'https://evil.example' }, { x5c: ['MIIB'] }])
      await expectInvalid(forge(privateKey, { ...header, ...more }, payload))
    for (const kid of ['x', '', undefined, null, '../es256.pem', "' OR 1=1 --", '__proto__', 'constructor', ['es256']])
      await expectInvalid(changed({}, { kid }))
    for (const alg of ['none', 'HS256', 'RS256', 'ES384', 'es256', undefined, ['ES256']])
      await expectInvalid(changed({}, { alg }))
  })

  it('spellings', async () => {
    const [header, payload, signature] = attestation.split('.')
    for (const spelled of [
      ...['', '.', '..', 'a.b.c', '{}', '💥', 'A'.repeat(9000), 'A'.repeat(30_000)],
      ...[`${attestation} `, ` ${attestation}`, `${attestation}\n`, `${attestation}=`, `${attestation}.`],
      ...[`${String(header)}.${String(payload)}.`, `${String(header)}.${String(payload)}`, `..${String(signature)}`],
    ])
      await expectInvalid(spelled)
    for (const value of [undefined, null, 1, [], {}, true]) expectNamed(await device.reissue(value), 'InvalidRequest')
    await expectInvalid(changed({}, { crit: ['exp'] }))
    await expectInvalid(changed({}, { b64: true }))
  })

  it('one bit flipped anywhere', async () => {
    for (let index = 0; index < attestation.length; index += 17) {
      const letter = attestation.charAt(index) === 'A' ? 'B' : 'A'
      await expectInvalid(attestation.slice(0, index) + letter + attestation.slice(index + 1))
    }
  })
})

describe('row 20: other types and shapes under our key', () => {
  it('other types', async () => {
    for (const typ of [
      'JWT',
      'at+jwt',
      'userinfo+jwt',
      'logout+jwt',
      'text/device-attestation+jwt',
      '',
      undefined,
      null,
      1,
    ])
      await expectInvalid(changed({}, { typ }))
  })

  it('the right type over claims that are not those of an attestation', async () => {
    const thumbprint = device.jkt
    const wrong: Json[] = [
      ...[undefined, null, '', {}, [], { jkt: '' }, { jkt: 1 }, { jkt: `${thumbprint}=` }, thumbprint].map((cnf) => ({
        cnf,
      })),
      ...[undefined, null, 1, ['alice']].flatMap((id) => [{ sub: id }, { did: id }]),
      ...[undefined, null, 'active', [], {}, { status: 'revoked' }, { status: true }].map((att) => ({ att })),
      ...[undefined, null, '', randomUUID(), '.', `zzzzzzzz.${'A'.repeat(22)}`, 1].map((jti) => ({ jti })),
      { aud: server.issuer },
      { aud: null },
      { scope: 'openid' },
      { client_id: 'web' },
    ]
    for (const claims of wrong) await expectInvalid(changed(claims))
  })

  it('row 30: another principal_type', async () => {
    for (const principal_type of ['user', 'Device', '', undefined, null, ['device'], 'constructor'])
      await expectInvalid(changed({ principal_type }))
  })
})

describe('row 24: another key', () => {
  it('of another principal', async () => {
    const stranger = await server.device()
    expectNamed(await stranger.reissue(attestation), 'KeyNotBound')
    expect(server.double.questions).toHaveLength(0)
  })

  it('row 7 to 10: malformed keys', async () => {
    const { x, y } = device.jwk
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const bad = [{}, { ...device.jwk, d: 'AAAA' }, { ...device.jwk, x: `${x}=` }, { ...device.jwk, y: x, x: y }]
    for (const public_jwk of [...bad, { ...device.jwk, alg: 'HS256' }, publicKey.export({ format: 'jwk' })])
      expectNamed(await device.reissue(attestation, { public_jwk }), 'BadJwk')
    for (const public_jwk of [undefined, null, [], 'x', 1])
      expectNamed(await device.reissue(attestation, { public_jwk }), 'InvalidRequest')
    expect(server.double.questions).toHaveLength(0)
  })

  it('only the attestation says who is renewed', async () => {
    const injected = {
      principal_type: 'service',
      subject: 'mallory',
      principal_id: 'x',
      attributes: { roles: ['admin'] },
    }
    const { body, status } = await device.reissue(attestation, injected)
    expect(status).toBe(200)
    const completed = await device.complete(body['challenge'])
    expect(decodeJws(String(completed.body['attestation'])).payload).toMatchObject({
      sub: 'alice',
      did: 'phone-1',
      principal_type: 'device',
      att: { status: 'active' },
    })
  })
})

describe('row 25: what a refusal costs', () => {
  it('garbage reaches neither the store nor the status provider', async () => {
    // Its clock was never set forward, so it collects nothing meanwhile.
    await using quiet = await startAttestationServer({ status: true })
    const own = await quiet.device()
    const good = await own.attest()
    const { header, payload } = decodeJws(good)
    const expired = forge(await quiet.host.key(), header, { ...payload, exp: 1 })
    const stranger = await quiet.device()
    quiet.double.reset()
    const file = `${quiet.host.server.directory}/store/data.mdb`
    const before = await readFile(file)
    for (const token of ['a.b.c', expired]) {
      expectNamed(await own.reissue(token), 'AttestationInvalid')
      expectNamed(await own.reissue(token, { public_jwk: {} }), 'AttestationInvalid')
    }
    expectNamed(await stranger.reissue(good), 'KeyNotBound')
    expectNamed(await own.reissue(good, { public_jwk: {} }), 'BadJwk')
    expect(quiet.double.questions).toHaveLength(0)
    expect((await readFile(file)).equals(before)).toBe(true)
  })
})

describe('row 29: renewals end', () => {
  it('after max_continuity_secs, and then a new enrolment begins', async () => {
    await using brief = await startAttestationServer({
      section: { attestation_ttl_secs: 3600, attestation_reissue_after_secs: 600, max_continuity_secs: 7200 },
    })
    const own = await brief.device()
    let last = await own.attest()
    const [begun] = String(decodeJws(last).payload['jti']).split('.')
    for (let count = 0; count < 3; count++) {
      brief.host.later(2_000_000)
      last = await own.renew(last)
      expect(String(decodeJws(last).payload['jti']).split('.')[0]).toBe(begun)
    }
    brief.host.later(1_300_000)
    expectNamed(await own.reissue(last), 'ReenrolmentRequired')
    await own.renew(await own.attest())
  })
})

it('a renewal can be repeated: each challenge is different and valid once', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => device.reissue(attestation)))
  const challenges = answers.map(({ body }) => String(body['challenge']))
  expect(new Set(challenges).size).toBe(10)
  for (const challenge of challenges) {
    expect((await device.complete(challenge)).status).toBe(200)
    expectNamed(await device.complete(challenge), 'InvalidChallenge')
  }
})
