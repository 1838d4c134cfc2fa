import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { OAuthError, Unavailable } from '../../core/api/index.js'
import { decodeJws, type AttestationAnswer, type Device } from '../support/clients/attestation.js'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'

// Whatever a plugin does, nothing is issued that it did not plainly allow, and no fault of it becomes a refusal.

const factor = 'canary-factor-value'
const logged: unknown[] = []

let server: AttestationServer
let device: Device
beforeAll(async () => {
  const note = (...lines: unknown[]) => void logged.push(...lines)
  server = await startAttestationServer({ status: true, log: { debug: note, info: note, warn: note, error: note } })
})
beforeEach(async () => {
  device = await server.device({ second_factor: { kind: 'word', value: factor } })
  server.double.verify = () => ({ ok: true })
})
afterEach(() => server.double.reset())
afterAll(() => server[Symbol.asyncDispose]())

const never = () => new Promise<never>(() => undefined)

type Fault = readonly [string, () => unknown]

/** What a hook may do that is no answer. */
const faults: readonly Fault[] = [
  ['returns nothing', () => undefined],
  ['returns null', () => null],
  ['returns true', () => true],
  ['returns false', () => false],
  ['returns 1', () => 1],
  ['returns text', () => 'ok'],
  ['returns a list', () => [true]],
  ['returns a function', () => () => ({ ok: true })],
  [
    'throws',
    () => {
      throw new Error(`cannot verify ${factor}`)
    },
  ],
  [
    'throws text',
    () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- a plugin may
      throw factor
    },
  ],
  [
    'throws nothing',
    () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- a plugin may
      throw undefined
    },
  ],
  [
    'throws a refusal of OAuth',
    () => {
      throw new OAuthError('access_denied', factor)
    },
  ],
  [
    'is down',
    () => {
      throw new Unavailable('bank', 'no', 'connection refused')
    },
  ],
  ['rejects', () => Promise.reject(new TypeError(factor))],
  ['never settles', never],
]

const faultsBut = (...names: readonly string[]) => faults.filter(([name]) => !names.includes(name))

/** 503, no word of it in answers, and the whole log without the factor. */
const expectFault = (answer: AttestationAnswer): void => {
  expectNamed(answer, 'Unavailable')
  expect(answer.text).not.toContain(factor)
  const written = logged.map((line) =>
    line instanceof Error
      ? `${String(line)}${String(line.stack)}${String((line.cause as Error | undefined)?.stack)}`
      : JSON.stringify(line),
  )
  expect(written.join('\n')).not.toContain(factor)
}

describe('row 34: a second factor that', () => {
  it.each<Fault>([
    ...faults,
    ['returns {}', () => ({})],
    ["returns ok: 'true'", () => ({ ok: 'true' })],
    ['returns ok: 1', () => ({ ok: 1 })],
    ['returns ok in a list', () => [{ ok: true }]],
    ['grants what is no object', () => ({ ok: true, attributes: 'admin' })],
    ['grants a list', () => ({ ok: true, attributes: ['admin'] })],
    ['grants null', () => ({ ok: true, attributes: null })],
    ['grants what is no JSON', () => ({ ok: true, attributes: { n: 1n } })],
    ['grants too much', () => ({ ok: true, attributes: { a: 'x'.repeat(5000) } })],
    ['has a consume that is none', () => ({ ok: true, consume: 'yes' })],
  ])('%s: 503, and the same request passes afterwards', async (_name, verify) => {
    server.double.verify = verify
    expectFault(await device.enrol())
    server.double.verify = () => ({ ok: true })
    await device.attest()
  })

  it('gets an abort at its deadline', async () => {
    let aborted: unknown
    server.double.verify = ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          aborted = signal.reason
          resolve({ ok: true })
        })
      })
    expectFault(await device.enrol())
    expect(aborted).toBeInstanceOf(Unavailable)
  })
})

describe('attributes that are too large beside long identifiers', () => {
  const ids = { subject: '日'.repeat(256), principal_id: '本'.repeat(256) }
  const most = { a: 'x'.repeat(4000) }

  it('are blamed on the factor that granted them, the provider that supplied them, or the caller that requested them', async () => {
    expectNamed(await device.enrol({ ...ids, attributes: most }), 'InvalidRequest')

    server.double.verify = () => ({ ok: true, attributes: most })
    expectFault(await device.enrol(ids))
    server.double.verify = () => ({ ok: true })
    const { body } = await device.enrol(ids)
    const attestation = (await device.complete(body['challenge'])).body['attestation']

    const renewal = (await device.reissue(attestation)).body['challenge']
    server.double.current = () => most
    expectFault(await device.complete(renewal))
    server.double.current = () => ({})
    expect((await device.complete(renewal)).status).toBe(200)
  })
})

describe('consuming a factor, when it', () => {
  it.each(faultsBut('returns true', 'returns false'))('%s: 503', async (_name, consume) => {
    server.double.consume = consume
    expectFault(await device.enrol())
    server.double.consume = () => Promise.resolve(true)
    await device.attest()
  })

  it('returns false: refused, without a challenge', async () => {
    server.double.consume = () => Promise.resolve(false)
    const answer = await device.enrol()
    expectNamed(answer, 'SecondFactorFailed')
    expect(answer.body).not.toHaveProperty('challenge')
  })

  it('is called once, and only when nothing else can refuse', async () => {
    let used = 0
    server.double.consume = () => Promise.resolve(++used > 0)
    server.double.current = () => undefined
    expectNamed(await device.enrol(), 'PrincipalRevoked')
    expect(used).toBe(0)
    server.double.current = () => ({})
    await device.attest()
    expect(used).toBe(1)
  })
})

describe('row 27: a status provider that', () => {
  const wrong: readonly Fault[] = [
    ...faultsBut('returns nothing'),
    ['grants what is no JSON', () => ({ n: 1n })],
    ['grants a deep nest', () => ({ a: { b: { c: { d: { e: { f: 1 } } } } } })],
  ]

  it.each(wrong)('%s: 503 at every step, never revoked', async (_name, current) => {
    const attestation = await device.attest()
    const challenge = await device.challenge()
    server.double.current = current
    const answers = await Promise.all([device.enrol(), device.reissue(attestation), device.complete(challenge)])
    for (const answer of answers) expectFault(answer)
    server.double.current = () => ({})
    expect((await device.complete(challenge)).status).toBe(200)
    await device.renew(attestation)
  })

  it.each(
    faultsBut(
      'returns nothing',
      'returns null',
      'returns true',
      'returns false',
      'returns 1',
      'returns text',
      'returns a list',
      'returns a function',
    ),
  )('%s when it gets an enrolment: 503, and the challenge stays', async (_name, enrolled) => {
    const challenge = await device.challenge()
    server.double.enrolled = enrolled
    expectFault(await device.complete(challenge))
    server.double.enrolled = () => undefined
    expect((await device.complete(challenge)).status).toBe(200)
  })

  it('returns nothing: revoked, at every step', async () => {
    const attestation = await device.attest()
    const renewal = await device.reissue(attestation)
    const challenge = await device.challenge()
    server.double.current = () => undefined
    const completions = [renewal.body['challenge'], challenge].map((each) => device.complete(each))
    for (const answer of await Promise.all([device.enrol(), device.reissue(attestation), ...completions]))
      expectNamed(answer, 'PrincipalRevoked')
  })

  it('returns attributes: a renewal contains them, an enrolment those that were granted', async () => {
    server.double.current = () => ({ tier: 'gold', status: 'theirs' })
    const first = await device.attest()
    expect(decodeJws(first).payload['att']).toEqual({ model: 'P1', status: 'active' })
    const second = await device.renew(first)
    expect(decodeJws(second).payload['att']).toEqual({ tier: 'gold', status: 'active' })
    server.double.current = () => ({})
    expect(decodeJws(await device.renew(second)).payload['att']).toEqual({ status: 'active' })
  })

  it('is called with the principal, the key and the step', async () => {
    await device.renew(await device.attest())
    const { questions, enrolments } = server.double
    expect(questions.map(({ step }) => step)).toEqual(['enrolment', 'enrolment', 'renewal', 'renewal'])
    expect(enrolments).toHaveLength(1)
    for (const { principal, jkt } of [...questions, ...enrolments])
      expect([principal, jkt]).toEqual([
        { subject: 'alice', principalId: 'phone-1', principalType: 'device' },
        device.jkt,
      ])
  })
})

it('without a status provider the attributes are copied forward', async () => {
  await using plain = await startAttestationServer()
  const own = await plain.device({ attributes: { model: 'P1', os: { name: 'A' } } })
  const last = await own.renew(await own.renew(await own.attest()))
  expect(decodeJws(last).payload['att']).toEqual({ model: 'P1', os: { name: 'A' }, status: 'active' })
})
