import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decodeJws, postJson, type Device } from '../support/clients/attestation.js'
import { countRefusals } from '../support/forge/refusals.js'
import {
  expectNamed,
  startAttestationServer,
  type AttestationServer,
  type NamedError,
} from '../support/server/attestation-server.js'

let server: AttestationServer
let device: Device
beforeAll(async () => {
  server = await startAttestationServer({ status: true })
})
beforeEach(async () => {
  device = await server.device()
})
afterEach(async () => {
  server.double.reset()
  await server.expectGood()
  server.double.reset()
})
afterAll(() => server[Symbol.asyncDispose]())

type Json = Record<string, unknown>

/** Refused before anybody is asked for a second factor. */
const expectUnasked = async (overrides: Json, name: NamedError = 'InvalidRequest', status?: number): Promise<void> => {
  const answer = await device.enrol(overrides)
  if (status === undefined) expectNamed(answer, name)
  else expectNamed(answer, name, status)
  expect(server.double.asked).toHaveLength(0)
}

describe('types', () => {
  it.each(['subject', 'principal_id'])(
    '%s has 1 to 256 printable characters in Unicode normal form C',
    async (name) => {
      for (const value of [
        undefined,
        null,
        1,
        true,
        [],
        {},
        '',
        'a'.repeat(257),
        'a\u0000',
        'a\nb',
        'a\u007f',
        '\u202eb',
      ])
        await expectUnasked({ [name]: value })
      for (const value of ['e\u0301', '\ud800', 'a\u200bb', '\u2028', '\ufeffa']) await expectUnasked({ [name]: value })
      // What reads like another id, or like none.
      for (const value of [
        ' ',
        'a ',
        ' a',
        'a  b',
        'a\u00a0',
        'a\u3000b',
        'a\ufe0f',
        'a\u3164b',
        '\u2800',
        '\u034f',
        'a\uffff',
      ])
        await expectUnasked({ [name]: value })
      for (const value of [
        'a'.repeat(256),
        'é',
        '日本',
        'a b',
        'a b c',
        '🔑',
        "' OR 1=1 --",
        '../..',
        '{"$ne":1}',
        '__proto__',
      ])
        expect((await device.enrol({ [name]: value })).status).toBe(200)
    },
  )

  it('principal_type', async () => {
    for (const value of [undefined, null, 'user', 'Device', 'device ', '', ['device'], { device: 1 }, 'constructor'])
      await expectUnasked({ principal_type: value })
  })

  it('second_factor', async () => {
    const word = { kind: 'word', value: 'right' }
    for (const value of [undefined, null, 'word', [], {}, [word], { kind: 'word' }, { value: 'right' }])
      await expectUnasked({ second_factor: value })
    for (const wrong of [
      { kind: 1 },
      { kind: '' },
      { kind: 'k'.repeat(65) },
      { value: 1 },
      { value: null },
      { value: {} },
    ])
      await expectUnasked({ second_factor: { ...word, ...wrong } })
    await expectUnasked({ second_factor: { ...word, value: 'v'.repeat(16_385) } })
  })
})

describe('row 15: sizes and depths', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${String(n)}`, 1]))

  it('attributes are an object', async () => {
    for (const attributes of [null, [], 'x', 1, true]) await expectUnasked({ attributes })
  })

  it('nested too deep, too many, too long, without a value', async () => {
    const lists = { a: [[[[[1]]]]] }
    const long = { a: 'x'.repeat(4090) }
    const wide = { a: keys(40), b: keys(40) }
    for (const attributes of [nested(6), nested(31), lists, long, wide, keys(65), { a: null }, { a: [{ b: null }] }])
      await expectUnasked({ attributes })
  })

  it('at the limit', async () => {
    for (const attributes of [
      nested(5),
      keys(64),
      { a: 'x'.repeat(4000) },
      { a: [[[[1]]]] },
      { é: '😀'.repeat(500) },
    ]) {
      const { body, status } = await device.enrol({ attributes })
      expect(status).toBe(200)
      const completed = await device.complete(body['challenge'])
      const attestation = String(completed.body['attestation'])
      expect(decodeJws(attestation).payload['att']).toEqual({ ...(attributes as Json), status: 'active' })
      expect(attestation.length).toBeLessThan(8192)
      await device.renew(attestation)
    }
  })

  it('identifiers and attributes that fit alone but not together', async () => {
    const id = '日'.repeat(256)
    const answer = await device.enrol({ subject: id, principal_id: id, attributes: { a: 'x'.repeat(4000) } })
    expectNamed(answer, 'InvalidRequest')
  })

  it('a body over 32 KiB, declared and not', async () => {
    await expectUnasked({ padding: 'x'.repeat(33_000) }, 'InvalidRequest', 413)
    const stream = new ReadableStream({
      start(controller) {
        for (let count = 0; count < 40; count++) controller.enqueue(Buffer.alloc(1024, 0x20))
        controller.close()
      },
    })
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: stream, duplex: 'half' } as RequestInit
    expect((await fetch(`${server.issuer}/enrol`, init)).status).toBe(413)
    expect((await device.enrol({ padding: 'x'.repeat(30_000) })).status).toBe(200)
  })
})

describe('row 16: names that poison', () => {
  it.each(['__proto__', 'constructor', 'prototype'])('%s at any depth', async (name) => {
    for (const attributes of [`{"${name}":1}`, `{"a":{"${name}":{"b":1}}}`, `{"a":[{"b":[{"${name}":1}]}]}`]) {
      const body = JSON.stringify(device.enrolment({ attributes: 'HERE' })).replace('"HERE"', attributes)
      expectNamed(await postJson(`${server.issuer}/enrol`, body), 'InvalidRequest')
    }
    const whole = JSON.stringify(device.enrolment())
    for (const member of ['{', '"public_jwk":{', '"second_factor":{']) {
      const body = whole.replace(member, `${member}"${name}":{},`)
      expect(body.length).toBeGreaterThan(whole.length)
      expectNamed(await postJson(`${server.issuer}/enrol`, body), 'InvalidRequest')
    }
    const escaped = `{"${name.replace('o', '\\u006f')}":{"polluted":true}}`
    const body = JSON.stringify(device.enrolment({ attributes: 'HERE' })).replace('"HERE"', escaped)
    expectNamed(await postJson(`${server.issuer}/enrol`, body), 'InvalidRequest')
    expect(server.double.asked).toHaveLength(0)
    expect(({} as Json)['polluted']).toBeUndefined()
  })

  it('from a plugin they are reported as a fault', async () => {
    const poisoned = JSON.parse('{"a":{"__proto__":{"polluted":true}}}') as unknown
    server.double.verify = () => ({ ok: true, attributes: poisoned })
    expectNamed(await device.enrol(), 'Unavailable')
  })
})

describe('row 17: attributes', () => {
  it('status cannot be requested', async () => {
    for (const status of ['active', 'revoked', '', 1, {}])
      await expectUnasked({ attributes: { status } }, 'AttributesDenied')
  })

  it('a policy allows names', async () => {
    await using strict = await startAttestationServer({ section: { attributes: { allow: ['model', 'os'] } } })
    const own = await strict.device()
    for (const attributes of [{ roles: ['admin'] }, { model: 'x', kyc_level: 3 }, { Model: 'x' }, { status: 'active' }])
      expectNamed(await own.enrol({ attributes }), 'AttributesDenied')
    expect(strict.double.asked).toHaveLength(0)
    for (const attributes of [{ model: 'x', os: { roles: 1 } }, {}, undefined])
      expect((await own.enrol({ attributes })).status).toBe(200)
  })

  it('the second factor sees the requested attributes, and those it grants are attested', async () => {
    server.double.verify = () => ({ ok: true, attributes: { kyc_level: 1, status: 'mine', gone: undefined } })
    const { body } = await device.enrol({ attributes: { kyc_level: 3 } })
    const [asked] = server.double.asked
    expect(asked?.enrolment).toMatchObject({
      principal: { subject: 'alice', principalId: 'phone-1', principalType: 'device' },
      jkt: device.jkt,
      attributes: { kyc_level: 3 },
      address: '127.0.0.1',
    })
    const completed = await device.complete(body['challenge'])
    expect(decodeJws(String(completed.body['attestation'])).payload['att']).toEqual({ kyc_level: 1, status: 'active' })
  })
})

describe('row 18 and 28: a revocation is visible only after the second factor', () => {
  it('at enrolment', async () => {
    server.double.current = () => undefined
    expectNamed(await device.enrol({ second_factor: { kind: 'word', value: 'wrong' } }), 'SecondFactorFailed')
    expect(server.double.questions).toHaveLength(0)
    expectNamed(await device.enrol(), 'PrincipalRevoked')
    expect(server.double.questions).toEqual([
      {
        principal: { subject: 'alice', principalId: 'phone-1', principalType: 'device' },
        jkt: device.jkt,
        step: 'enrolment',
      },
    ])
  })

  it('between enrolment and completion; the challenge stays', async () => {
    const challenge = await device.challenge()
    server.double.current = () => undefined
    expectNamed(await device.complete(challenge), 'PrincipalRevoked')
    expect(server.double.enrolments).toHaveLength(0)
    server.double.current = () => ({})
    expect((await device.complete(challenge)).status).toBe(200)
    expect(server.double.enrolments).toHaveLength(1)
  })
})

describe('row 33 and 35: nobody learns which part was wrong', () => {
  it('a wrong factor, an unknown subject and an unknown kind get identical answers', async () => {
    const answers = [
      await device.enrol({ second_factor: { kind: 'word', value: 'wrong' } }),
      await device.enrol({ subject: 'nobody', second_factor: { kind: 'word', value: 'wrong' } }),
      await device.enrol({ second_factor: { kind: 'no-such-kind', value: 'right' } }),
      await device.enrol({ second_factor: { kind: 'constructor', value: 'right' } }),
      await device.enrol({ second_factor: { kind: 'Word', value: 'right' } }),
    ]
    for (const answer of answers) {
      expectNamed(answer, 'SecondFactorFailed')
      expect(answer.text).toBe(answers[0]?.text)
      expect([...answer.headers.keys()]).toEqual([...(answers[0]?.headers.keys() ?? [])])
      expect(answer.body).not.toHaveProperty('challenge')
    }
  })

  it('the reason appears only in the audit log, and a pending decision may be requested again', async () => {
    server.double.verify = () => ({ ok: false, reason: 'it waits for a person', retryAfterSeconds: 7 })
    const answer = await device.enrol()
    expectNamed(answer, 'ApprovalPending')
    const retryAfter = Number(answer.headers.get('retry-after'))
    expect(retryAfter).toBeGreaterThanOrEqual(7)
    expect(retryAfter).toBeLessThanOrEqual(12)
    expect(answer.text).not.toContain('waits')
    for (const junk of [NaN, Infinity, '7', -7, null]) {
      server.double.verify = () => ({ ok: false, retryAfterSeconds: junk })
      expect((await device.enrol()).headers.get('retry-after') ?? '1').toMatch(/^[1-9]$/)
    }
    server.double.verify = () => ({ ok: false, reason: 'it waits for a person' })
    // More than ten kinds from one address in a second share a line without a reason, and the tests above send many.
    const reported = async () => {
      await device.enrol()
      return countRefusals(await server.host.server.audit(), { reason: 'it waits for a person' })
    }
    await expect.poll(reported, { interval: 500 }).toBeGreaterThan(0)
  })
})
