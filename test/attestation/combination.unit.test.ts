import { describe, expect, it } from 'vitest'
import { Unavailable, type JsonObject } from '../../core/api/index.js'
import type {
  Principal,
  SecondFactorAccepted,
  SecondFactorDenied,
  SecondFactorVerifier,
} from '../../core/api/attestation.js'
import plugin from '../../plugins/attestation/combination/index.js'
import { createFactor, enrolmentOf } from '../support/clients/second-factor.js'

const device: Principal = { subject: 'alice', principalId: 'phone-1', principalType: 'device' }

/** A factor that accepts `<kind> ok`, and writes down what happens to it. */
const part = (kind: string, log: string[], accepted: Partial<SecondFactorAccepted> = {}): SecondFactorVerifier => ({
  kind,
  verify: async (_enrolment, proof) => {
    log.push(`verify ${kind}`)
    if (proof.value !== `${kind} ok`) return { ok: false, reason: 'wrong' }
    const consume = async () => {
      log.push(`consume ${kind}`)
      return true
    }
    return { ok: true, consume, ...accepted }
  },
})

const answering = (kind: string, answer: unknown): SecondFactorVerifier => ({
  kind,
  verify: () => Promise.resolve(answer as SecondFactorAccepted),
})

const combine = (options: JsonObject, ...factors: SecondFactorVerifier[]) => {
  const secondFactors = new Map(factors.map((factor) => [factor.kind, factor]))
  return createFactor(plugin, { kind: 'both', ...options }, { secondFactors })
}

const present = (factor: SecondFactorVerifier, proof: unknown) =>
  factor.verify(enrolmentOf(device), {
    kind: factor.kind,
    value: typeof proof === 'string' ? proof : JSON.stringify(proof),
  })

const ok = (kind: string) => ({ kind, value: `${kind} ok` })
const wrong = (kind: string) => ({ kind, value: 'wrong' })
const malformed = { ok: false, reason: 'the proof of a combination is malformed' }

const consumed = async (answer: SecondFactorAccepted | SecondFactorDenied) =>
  answer.ok ? answer.consume?.() : undefined

describe('all', () => {
  it('asks every part and consumes every part, in the order of the configuration', async () => {
    const log: string[] = []
    const factor = await combine({ all: ['a', 'b'] }, part('b', log), part('a', log))
    expect(factor).toMatchObject({ kind: 'both', parts: ['a', 'b'] })
    const answer = await present(factor, [ok('b'), ok('a')])
    expect(log).toEqual(['verify a', 'verify b'])
    expect(await consumed(answer)).toBe(true)
    expect(log).toEqual(['verify a', 'verify b', 'consume a', 'consume b'])
  })

  it('stops at the first part that refuses, and reports which', async () => {
    const log: string[] = []
    const factor = await combine({ all: ['a', 'b', 'c'] }, part('a', log), part('b', log), part('c', log))
    expect(await present(factor, [ok('a'), wrong('b'), ok('c')])).toEqual({ ok: false, reason: 'b: wrong' })
    expect(log).toEqual(['verify a', 'verify b'])
  })

  it('reports that a decision is still pending', async () => {
    const factor = await combine(
      { all: ['a', 'b'] },
      part('a', []),
      answering('b', { ok: false, retryAfterSeconds: 5 }),
    )
    expect(await present(factor, [ok('a'), ok('b')])).toEqual({ ok: false, reason: 'b', retryAfterSeconds: 5 })
  })

  it.each<[string, unknown]>([
    ['nothing', ''],
    ['no JSON', '[{'],
    ['an object', ok('a')],
    ['an empty list', []],
    ['one part', [ok('a')]],
    ['one part twice', [ok('a'), ok('a')]],
    ['a part too many', [ok('a'), ok('b'), ok('a')]],
    ['another kind', [ok('a'), ok('c')]],
    ['a member too many', [ok('a'), { ...ok('b'), also: 1 }]],
    ['a value that is no text', [ok('a'), { kind: 'b', value: { toString: 'b ok' } }]],
    ['a list in a list', [[ok('a'), ok('b')]]],
    ['null', [ok('a'), null]],
    ['a kind of the prototype', [ok('a'), ok('__proto__')]],
    ['100,000 brackets', '['.repeat(100_000)],
  ])('refuses %s without asking any part', async (_what, proof) => {
    const log: string[] = []
    const factor = await combine({ all: ['a', 'b'] }, part('a', log), part('b', log))
    expect(await present(factor, proof)).toEqual(malformed)
    expect(log).toEqual([])
  })

  it('grants attributes on which all granting parts agree', async () => {
    const factor = await combine(
      { all: ['a', 'b', 'c', 'd'] },
      part('a', [], { attributes: { model: 'X', os: { name: 'A' }, role: 'admin', only: 1 }, amr: ['otp', 'mfa'] }),
      part('b', [], { amr: ['otp'] }),
      part('c', [], { attributes: { os: { name: 'A' }, model: 'X', role: 'user' }, amr: ['user'] }),
      part('d', [], { attributes: { os: { name: 'A' }, role: 'admin', only: 1 } }),
    )
    const answer = await present(factor, [ok('a'), ok('b'), ok('c'), ok('d')])
    expect(answer).toMatchObject({ amr: ['otp', 'mfa', 'user'] })
    expect(answer.ok && answer.attributes).toEqual({ os: { name: 'A' } })
  })

  it('leaves attributes undefined when every part does, and grants none when a part grants none', async () => {
    const silent = await combine({ all: ['a', 'b'] }, part('a', []), part('b', []))
    expect(await present(silent, [ok('a'), ok('b')])).not.toHaveProperty('attributes')
    const strict = await combine(
      { all: ['a', 'b'] },
      part('a', [], { attributes: { model: 'X' } }),
      part('b', [], { attributes: {} }),
    )
    expect(await present(strict, [ok('a'), ok('b')])).toMatchObject({ attributes: {} })
  })

  it('is consumed only when every part is', async () => {
    const log: string[] = []
    const factor = await combine(
      { all: ['a', 'b', 'c'] },
      part('a', log),
      part('b', log, { consume: async () => false }),
      part('c', log),
    )
    expect(await consumed(await present(factor, [ok('a'), ok('b'), ok('c')]))).toBe(false)
    expect(log.filter((line) => line.startsWith('consume'))).toEqual(['consume a'])
  })
})

describe('any', () => {
  it('asks only the part that the proof names', async () => {
    const log: string[] = []
    const factor = await combine(
      { any: ['a', 'b'] },
      part('a', log),
      part('b', log, { attributes: { model: 'X' }, amr: ['otp'] }),
    )
    expect(factor).toMatchObject({ kind: 'both', parts: ['a', 'b'] })
    const answer = await present(factor, ok('b'))
    expect(answer).toMatchObject({ ok: true, attributes: { model: 'X' }, amr: ['otp'] })
    expect(await consumed(answer)).toBe(true)
    expect(await present(factor, wrong('a'))).toEqual({ ok: false, reason: 'a: wrong' })
    expect(log).toEqual(['verify b', 'consume b', 'verify a'])
  })

  it.each<[string, unknown]>([
    ['no JSON', 'a ok'],
    ['a list', [ok('a')]],
    ['another kind', ok('c')],
    ['its own kind', ok('both')],
    ['a member too many', { ...ok('a'), also: 1 }],
    ['null', 'null'],
  ])('refuses %s', async (_what, proof) => {
    const factor = await combine({ any: ['a', 'b'] }, part('a', []), part('b', []))
    expect(await present(factor, proof)).toEqual(malformed)
  })
})

describe.each(['all', 'any'] as const)('a part of %s', (how) => {
  const ask = async (...factors: [SecondFactorVerifier, SecondFactorVerifier]) => {
    const factor = await combine({ [how]: ['a', 'b'] }, ...factors)
    return present(factor, how === 'all' ? [ok('a'), ok('b')] : ok('a'))
  }

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['true', true],
    ['a text', 'ok'],
    ['a list', [{ ok: true }]],
    ['null', null],
    ['an object without ok', {}],
    ['ok: 1', { ok: 1 }],
    ['ok: "true"', { ok: 'true' }],
    ['attributes that are a text', { ok: true, attributes: 'admin' }],
    ['attributes that are a list', { ok: true, attributes: [] }],
    ['attributes that are null', { ok: true, attributes: null }],
  ])('that returns %s is reported as a fault', async (_what, answer) => {
    await expect(ask(answering('a', answer), part('b', []))).rejects.toMatchObject({
      name: 'Unavailable',
      component: 'attestation.a',
    })
  })

  it('has its error passed on', async () => {
    const down = new Unavailable('directory', 'no', 'down')
    const failing = { kind: 'a', verify: () => Promise.reject(down) }
    await expect(ask(failing, part('b', []))).rejects.toBe(down)
  })
})

describe('a part that does not say whether it is used up', () => {
  it.each([undefined, null, 1, 'true', {}])('is reported as a fault: %j', async (used) => {
    const vague = part('a', [], { consume: () => Promise.resolve(used as boolean) })
    const factor = await combine({ all: ['a', 'b'] }, vague, part('b', []))
    await expect(present(factor, [ok('a'), ok('b')]).then(consumed)).rejects.toBeInstanceOf(Unavailable)
  })
})

describe('options', () => {
  const parts = [part('a', []), part('b', [])]
  it.each<[string, JsonObject, string]>([
    ['neither all nor any', {}, 'must have either all or any'],
    ['both', { all: ['a', 'b'], any: ['a', 'b'] }, 'must have either all or any'],
    ['one part', { all: ['a'] }, '>=2'],
    ['one part twice', { any: ['a', 'a'] }, 'names a kind twice'],
    ['itself', { all: ['a', 'both'] }, 'a combination cannot contain itself'],
    [
      'a part that there is not',
      { all: ['a', 'c'] },
      'no plugin before it provides the second factor c; list both after',
    ],
    ['what there is not', { all: ['a', 'b'], order: 'any' }, 'Unrecognized key: "order"'],
  ])('refuses %s', async (_what, options, message) => {
    await expect(combine(options, ...parts)).rejects.toThrow(message)
  })
})
