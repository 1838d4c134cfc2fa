import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { OAuthError, Unavailable } from '../../core/api/index.js'
import type { EvidenceContext } from '../../core/api/attestation.js'
import { decodeJws, postJson, type AttestationAnswer, type Device } from '../support/clients/attestation.js'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'

// Whatever evidence comes, and whatever its plugin does, no attestation says more of a key than was proved now, once.

type Json = Record<string, unknown>

const secret = 'canary-of-the-evidence'
const logged: unknown[] = []

let server: AttestationServer
let plain: AttestationServer
let device: Device
beforeAll(async () => {
  const note = (...lines: unknown[]) => void logged.push(...lines)
  server = await startAttestationServer({ evidence: true, log: { debug: note, info: note, warn: note, error: note } })
  plain = await startAttestationServer()
})
beforeEach(async () => {
  device = await server.device()
})
afterEach(() => server.double.reset())
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await plain[Symbol.asyncDispose]()
})

const newChallenge = async (issuer = server.issuer): Promise<string> =>
  String((await postJson(`${issuer}/challenge`, {})).body['attestation_challenge'])

const chip = (challenge: unknown, more: Json = {}) => ({ kind: 'chip', challenge, contains: challenge, ...more })

const enrolWith = async (evidence: unknown, by = device) => by.enrol({ evidence })

const attestationOf = async (answer: AttestationAnswer, by = device): Promise<Json> => {
  expect(answer.status, answer.text).toBe(200)
  const completed = await by.complete(answer.body['challenge'])
  return decodeJws(String(completed.body['attestation'])).payload
}

const claims = 'iss sub iat nbf exp jti cnf did principal_type att'.split(' ')

describe('valid evidence', () => {
  it('appears in the attestation as the plugin describes it, and in each renewal', async () => {
    server.double.evidence = () => ({
      ok: true,
      keyStorage: ['iso_18045_high'],
      userAuthentication: ['iso_18045_basic'],
    })
    const answer = await enrolWith(chip(await newChallenge()))
    const completed = await device.complete(answer.body['challenge'])
    const first = String(completed.body['attestation'])
    const second = await device.renew(first)
    for (const attestation of [first, second, await device.renew(second)]) {
      const { payload } = decodeJws(attestation)
      expect(Object.keys(payload)).toEqual([...claims, 'key_storage', 'user_authentication'])
      expect(payload).toMatchObject({ key_storage: ['iso_18045_high'], user_authentication: ['iso_18045_basic'] })
    }
  })
  it('adds nothing where the plugin gives no level', async () => {
    server.double.evidence = () => ({ ok: true })
    expect(Object.keys(await attestationOf(await enrolWith(chip(await newChallenge()))))).toEqual(claims)
  })
  it('is optional, and without it the attestation is unchanged', async () => {
    expect(Object.keys(await attestationOf(await device.enrol()))).toEqual(claims)
  })
  it('reaches the plugin, with key and principal', async () => {
    let seen: { context?: EvidenceContext; evidence?: unknown } = {}
    server.double.evidence = (context, evidence) => {
      seen = { context, evidence }
      return { ok: true }
    }
    const challenge = await newChallenge()
    const evidence = chip(challenge, { more: { statements: [1, 'x'] } })
    await enrolWith(evidence)
    expect(seen.evidence).toEqual(evidence)
    const principal = { subject: 'alice', principalId: 'phone-1', principalType: 'device' }
    expect(seen.context).toMatchObject({ principal, jwk: device.jwk, jkt: device.jkt, challenge })
  })
  it("is in the audit log with its kind and the plugin's description", async () => {
    const who = await server.device({ subject: 'audited' })
    server.double.evidence = () => ({ ok: true, details: { model: 'C1' } })
    await enrolWith(chip(await newChallenge(), { proof: secret }), who)
    server.double.evidence = () => ({ ok: false, reason: 'the model is old' })
    await enrolWith(chip(await newChallenge(), { proof: secret }), who)
    const lines = (await server.host.server.audit()).filter(({ sub }) => sub === 'audited')
    expect(lines).toMatchObject([
      { event: 'attestation.challenged', evidence: 'chip', evidence_details: { model: 'C1' } },
      { event: 'attestation.refused', evidence: 'chip', error_code: 'EvidenceInvalid', reason: 'the model is old' },
    ])
    expect(JSON.stringify(lines)).not.toContain(secret)
  })
  it('is ignored where no plugin reads it', async () => {
    const other = await plain.device()
    expect(Object.keys(await attestationOf(await other.enrol({ evidence: chip('x') }), other))).toEqual(claims)
  })
})

describe('EV08: a challenge', () => {
  it('of another issuer, or of none, is refused before the plugin is called', async () => {
    server.double.evidence = () => expect.unreachable()
    const own = await newChallenge()
    const changed = `${own.slice(0, 71)}${own.endsWith('A') ? 'B' : 'A'}`
    for (const challenge of [await newChallenge(plain.issuer), 'x', '', `${own} `, changed, 'A'.repeat(72)])
      expectNamed(await enrolWith(chip(challenge)), 'EvidenceInvalid')
  })
  it('that has expired is refused', async () => {
    const challenge = await newChallenge()
    server.host.later(301_000)
    expectNamed(await enrolWith(chip(challenge)), 'EvidenceInvalid')
  })
  it('that the evidence does not contain is refused, and remains valid', async () => {
    const challenge = await newChallenge()
    expectNamed(await enrolWith(chip(challenge, { contains: await newChallenge() })), 'EvidenceInvalid')
    expect((await enrolWith(chip(challenge))).status).toBe(200)
  })
  it('remains valid when the second factor is wrong, and the plugin is not called', async () => {
    const challenge = await newChallenge()
    server.double.evidence = () => expect.unreachable()
    const second_factor = { kind: 'word', value: 'wrong' }
    expectNamed(await device.enrol({ evidence: chip(challenge), second_factor }), 'SecondFactorFailed')
    server.double.reset()
    expect((await enrolWith(chip(challenge))).status).toBe(200)
  })
})

describe('EV09: evidence of another shape', () => {
  it.each<readonly [string, unknown]>([
    ['text', 'chip'],
    ['a list', []],
    ['null', null],
    ['without a kind', { challenge: 'x' }],
    ['without a challenge', { kind: 'chip' }],
    ['with a number for a challenge', { kind: 'chip', challenge: 1 }],
    ['with a list for a kind', { kind: ['chip'], challenge: 'x' }],
    ['with an empty kind', { kind: '', challenge: 'x' }],
    ['with a kind of 65 characters', { kind: 'k'.repeat(65), challenge: 'x' }],
    ['with a name that poisons', JSON.parse('{"kind":"chip","challenge":"x","__proto__":{"ok":true}}')],
  ])('%s is an invalid request', async (_name, evidence) => {
    const raw = JSON.stringify({ ...device.enrolment(), evidence })
    expectNamed(await postJson(`${server.issuer}/enrol`, raw), 'InvalidRequest')
  })
  it.each(['__proto__', 'constructor', 'toString', 'word', 'CHIP', 'chip '])(
    'of the kind %s is refused',
    async (kind) => {
      expectNamed(await enrolWith({ ...chip(await newChallenge()), kind }), 'EvidenceInvalid')
    },
  )
  it('larger than the body limit is refused unread', async () => {
    const answer = await enrolWith(chip(await newChallenge(), { x5c: ['A'.repeat(40_000)] }))
    expect(answer.status).toBe(413)
  })
  it('that is deeply nested is an invalid request', async () => {
    const nested = `${'['.repeat(5000)}${']'.repeat(5000)}`
    const raw = `${JSON.stringify(device.enrolment()).slice(0, -1)},"evidence":{"kind":"chip","challenge":"x","deep":${nested}}}`
    expectNamed(await postJson(`${server.issuer}/enrol`, raw), 'InvalidRequest')
  })
})

const fail = (error: unknown) => () => {
  throw error as Error
}

describe('EV10: a verifier that', () => {
  const rows: readonly (readonly [string, () => unknown])[] = [
    ['returns nothing', () => undefined],
    ['returns true', () => true],
    ['returns a list', () => [{ ok: true }]],
    ['returns {}', () => ({})],
    ["returns ok: 'true'", () => ({ ok: 'true' })],
    ['returns ok: 1', () => ({ ok: 1 })],
    ['returns a level that is text', () => ({ ok: true, keyStorage: 'iso_18045_high' })],
    ['returns no levels', () => ({ ok: true, keyStorage: [] })],
    ['returns a level that is a number', () => ({ ok: true, userAuthentication: [1] })],
    ['returns null for a level', () => ({ ok: true, keyStorage: null })],
    ['returns nine levels', () => ({ ok: true, keyStorage: Array.from({ length: 9 }, () => 'x') })],
    ['returns a level that is too long', () => ({ ok: true, keyStorage: ['x'.repeat(129)] })],
    ['returns details that are text', () => ({ ok: true, details: secret })],
    ['returns details that are no JSON', () => ({ ok: true, details: { n: 1n } })],
    ['returns long details', () => ({ ok: true, details: { x: 'x'.repeat(1100) } })],
    ['throws', fail(new Error(secret))],
    ['throws text', fail(secret)],
    ['throws a refusal of OAuth', fail(new OAuthError('access_denied', secret))],
    ['is down', fail(new Unavailable('list', 'no', 'connection refused'))],
    ['rejects', () => Promise.reject(new TypeError(secret))],
    ['never settles', () => new Promise(() => undefined)],
  ]
  it.each(rows)('%s: 503, and the same request passes afterwards', async (_name, evidence) => {
    const used: string[] = []
    server.double.consume = () => used.push('factor') > 0
    server.double.evidence = evidence
    const sent = chip(await newChallenge(), { proof: secret })
    const answer = await enrolWith(sent)
    expectNamed(answer, 'Unavailable')
    expect(answer.text).not.toContain(secret)
    expect(used).toEqual([])
    server.double.evidence = () => ({ ok: true })
    expect((await enrolWith(sent)).status).toBe(200)
  })
  it('mentions the evidence in its error is not quoted in the log', () => {
    const written = logged.map((line) =>
      line instanceof Error ? `${line.message}${String(line.stack)}` : JSON.stringify(line),
    )
    expect(written.join('\n')).not.toContain(secret)
  })
})
