import { afterAll, beforeAll, expect, it } from 'vitest'
import { postJson, type Device } from '../support/clients/attestation.js'
import { startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'

type Json = Record<string, unknown>

const logged: unknown[] = []
let server: AttestationServer
let device: Device
beforeAll(async () => {
  const note = (...lines: unknown[]) => void logged.push(...lines)
  server = await startAttestationServer({
    status: true,
    log: { debug: note, info: note, warn: note, error: note },
    configure: (written) => ({ ...written, log: { level: 'debug' } }),
  })
  device = await server.device()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Mulberry32: the same requests at each run. */
const random = (() => {
  let state = 20261120
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
})()
const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T

const odd: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e308,
    '',
    ' ',
    '\u0000',
    '\ud800',
    '💥',
    '__proto__',
    'A'.repeat(43),
    'x'.repeat(5000),
  ],
  ...[[], {}, [[]], [null], { a: null }, { length: 1 }, { then: 1 }, { toString: 1 }, { toJSON: 1 }, { valueOf: 'x' }],
  ...[
    'a.b.c',
    '..',
    '.',
    'eyJhbGciOiJub25lIn0.e30.',
    '{"a":1}',
    '[]',
    "' OR 1=1 --",
    '../../x',
    '%00',
    '\r\nSet-Cookie: a=b',
  ],
]

/** A copy in which one member, at any depth, is gone or something else, or one more is there. */
const mutate = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || random(6) === 0) return pick(odd)
  if (Array.isArray(value)) return [...(value as unknown[]), pick(odd)]
  const copy: Json = { ...(value as Json) }
  const name = pick([...Object.keys(copy), 'extra'])
  const kind = random(5)
  if (kind === 0) Reflect.deleteProperty(copy, name)
  else if (kind === 1) copy[pick(['d', 'k', 'aud', 'status', 'cnf', 'alg', 'use', 'key_ops', 'crit'])] = pick(odd)
  else copy[name] = mutate(copy[name])
  return copy
}

it('no fuzzed request causes a 5xx, and valid requests still succeed', async () => {
  const attestation = await device.attest()
  const challenge = await device.challenge()
  const bases: readonly (readonly [string, Json])[] = [
    ['/enrol', device.enrolment()],
    ['/enrol/complete', { challenge, challenge_signature: await device.sign({ challenge: 'x' }) }],
    ['/reissue', { attestation, public_jwk: device.jwk }],
    ['/challenge', {}],
  ]
  const seen = new Map<number, number>()
  const send = async (): Promise<void> => {
    const [path, base] = pick(bases)
    let body = mutate(base)
    for (let more = random(3); more > 0; more--) body = mutate(body)
    const { status, text } = await postJson(server.issuer + path, JSON.stringify(body))
    seen.set(status, (seen.get(status) ?? 0) + 1)
    if (status >= 500) expect.fail(`${path} ${JSON.stringify(body).slice(0, 500)}: ${text}`)
  }
  for (let round = 0; round < 100; round++) await Promise.all(Array.from({ length: 20 }, send))
  expect(seen.get(400)).toBeGreaterThan(500)
  expect(seen.get(200)).toBeGreaterThan(20)
  await server.expectGood()
}, 60_000)

it('row 38: no log and no audit line has a challenge, a proof, an attestation, a factor or an attribute', async () => {
  const mark = 'canary-value-that-nobody-may-see'
  const factor = { kind: 'word', value: `${mark}-factor` }
  const own = await server.device({ attributes: { model: `${mark}-attribute` } })
  const challenge = await own.challenge()
  const proof = await own.sign({ challenge })
  const attestation = String((await own.complete(challenge, proof)).body['attestation'])
  const secrets = [mark, challenge, proof, attestation, ...attestation.split('.').slice(1)]
  for (const wrong of [
    own.enrol({ second_factor: factor }),
    own.enrol({ second_factor: { kind: `${mark}-kind`, value: 'x' } }),
    own.enrol({ public_jwk: { ...own.jwk, d: mark } }),
    own.enrol({ attributes: { status: mark } }),
    own.complete(challenge, proof),
    own.complete(mark, `${mark}.${mark}.${mark}`),
    own.reissue(`${attestation}x`),
    own.reissue(attestation, { public_jwk: { ...own.jwk, x: mark } }),
    postJson(`${server.issuer}/enrol`, `{"second_factor":"${mark}"`),
    postJson(`${server.issuer}/enrol?second_factor=${mark}`, {}),
  ]) {
    const { status, text } = await wrong
    expect(status).toBeGreaterThanOrEqual(400)
    for (const secret of secrets) expect(text).not.toContain(secret)
  }
  server.double.verify = () => {
    throw new Error(`${mark} cannot be checked`)
  }
  expect((await own.enrol({ second_factor: factor })).status).toBe(503)
  server.double.reset()
  await own.renew(attestation)

  const lines = logged.map((line) =>
    line instanceof Error ? `${String(line)} ${String(line.stack)} ${String(line.cause)}` : JSON.stringify(line),
  )
  expect(lines.length).toBeGreaterThan(20)
  const written = [...lines, JSON.stringify(await server.host.server.audit())].join('\n')
  for (const secret of secrets) expect(written).not.toContain(secret)
  expect(written).toContain(own.jkt)
})
