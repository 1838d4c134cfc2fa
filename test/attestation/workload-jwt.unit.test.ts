import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDevice, decodeJws } from '../support/clients/attestation.js'
import { newAssertionKey, signAssertion, type AssertionKey } from '../support/clients/client-assertion.js'
import { startFactorServer, type FactorServer } from '../support/server/factor-server.js'
import { jsonAnswer, noAnswers, openSite, type Site } from '../support/server/site.js'

type Json = Record<string, unknown>

const ci = newAssertionKey('RS256', 'ci-1')
const cluster = newAssertionKey('ES256', 'cluster-1')
const github = 'https://token.actions.githubusercontent.com'
const kubernetes = 'https://kubernetes.default.svc.cluster.local'
const audience = 'https://signet.bank.example'

const keySet = (...keys: readonly AssertionKey[]) => jsonAnswer({ keys: keys.map(({ publicJwk }) => publicJwk) })

let site: Site
let server: FactorServer
beforeAll(async () => {
  site = await openSite(keySet(ci))
  server = await startFactorServer([
    {
      use: 'plugins/attestation/workload-jwt',
      options: {
        kind: 'ci_jwt',
        issuer: github,
        jwks_uri: `${site.url}/jwks`,
        audience,
        max_age_secs: 600,
        rules: [
          {
            when: { repository_owner: 'bank', ref: 'refs/heads/release-*', ref_protected: 'true' },
            principal: { subject: 'ci:{repository}', principal_id: '{workflow}' },
            attributes: { commit: '{sha}', run: '{run_attempt}', level: 3 },
          },
        ],
      },
    },
    {
      use: 'plugins/attestation/workload-jwt',
      options: {
        issuer: kubernetes,
        jwks: { keys: [cluster.publicJwk] },
        algs: ['ES256'],
        rules: [
          {
            when: { sub: 'system:serviceaccount:payments:*' },
            principal: { subject: '{sub}', principal_id: '{kubernetes.io/serviceaccount/uid}' },
          },
        ],
      },
    },
  ])
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})
beforeEach(() => {
  site.answer = keySet(ci)
})

const seconds = () => Math.floor(server.now() / 1000)

/** As a job of GitHub Actions gets it. */
const jobClaims = (overrides: Json = {}): Json => ({
  iss: github,
  aud: audience,
  sub: 'repo:bank/ledger:ref:refs/heads/release-7',
  repository: 'bank/ledger',
  repository_owner: 'bank',
  ref: 'refs/heads/release-7',
  ref_protected: 'true',
  workflow: 'deploy',
  sha: '0123456789abcdef',
  run_attempt: '1',
  jti: randomUUID(),
  iat: seconds(),
  nbf: seconds() - 5,
  exp: seconds() + 300,
  ...overrides,
})

/** As a pod's projected volume has it. */
const podClaims = (overrides: Json = {}): Json => ({
  iss: kubernetes,
  aud: [server.issuer],
  sub: 'system:serviceaccount:payments:ledger',
  'kubernetes.io': { namespace: 'payments', serviceaccount: { name: 'ledger', uid: '5f9b0c1e' } },
  iat: seconds(),
  nbf: seconds(),
  exp: seconds() + 3600,
  ...overrides,
})

const header = ({ alg, kid }: AssertionKey): Json => ({ alg, kid, typ: 'JWT' })

const job = { subject: 'ci:bank/ledger', principal_id: 'deploy', principal_type: 'service' }
const pod = {
  subject: 'system:serviceaccount:payments:ledger',
  principal_id: '5f9b0c1e',
  principal_type: 'service',
}

const enrolJob = async (
  claims: Json,
  { by = ci, head = header(by), who = job }: { by?: AssertionKey; head?: unknown; who?: Json } = {},
) => {
  const device = await createDevice(server.issuer, { ...who, attributes: { asked: true } })
  return device.enrol({ second_factor: { kind: 'ci_jwt', value: signAssertion(by, head, claims) } })
}
const enrolPod = async (token: string, who: Json = pod) => {
  const device = await createDevice(server.issuer, { ...who, attributes: {} })
  return device.enrol({ second_factor: { kind: 'workload_jwt', value: token } })
}
const podToken = (overrides: Json = {}) =>
  signAssertion(cluster, { alg: 'ES256', kid: cluster.kid }, podClaims(overrides))

const refused = { status: 401, body: { error: 'invalid_grant', error_code: 'SecondFactorFailed' } }
const reasons = async (): Promise<unknown> => (await server.audit()).at(-1)?.['reason']

describe('a job of CI', () => {
  it('enrols the principal that a rule derives from its claims, with the attributes of the rule', async () => {
    const value = signAssertion(ci, header(ci), jobClaims())
    const device = await createDevice(server.issuer, { ...job, second_factor: { kind: 'ci_jwt', value } })
    const { payload } = decodeJws(await device.attest())
    expect(payload).toMatchObject({
      sub: 'ci:bank/ledger',
      did: 'deploy',
      principal_type: 'service',
      att: { commit: '0123456789abcdef', run: '1', level: 3, status: 'active' },
    })
  })

  it.each<[string, Json]>([
    ['another subject', { subject: 'ci:bank/vault' }],
    ['another id', { principal_id: 'test' }],
    ['another type', { principal_type: 'device' }],
  ])('cannot enrol %s', async (_name, who) => {
    expect(await enrolJob(jobClaims(), { who: { ...job, ...who } })).toMatchObject(refused)
    expect(await reasons()).toBe('workload token: no rule allows it to enrol this principal')
  })

  it.each<[string, Json]>([
    ['of another owner', { repository_owner: 'mallory' }],
    ['of another branch', { ref: 'refs/heads/main' }],
    ['of a branch that goes on where the pattern ends', { ref: 'refs/heads/release-7/../main' }],
    ['of a branch with nothing for the pattern', { ref: 'refs/heads/release-' }],
    ['that says it with another type', { ref_protected: true }],
    ['that says it in a list', { ref: ['refs/heads/release-7'] }],
    ['without the claim', { ref: undefined }],
    ['without a claim of the principal', { workflow: undefined }],
    ['without a claim of the attributes', { sha: undefined }],
    ['with an object for a claim', { workflow: { name: 'deploy' } }],
  ])('%s is refused', async (_name, claims) => {
    expect(await enrolJob(jobClaims(claims))).toMatchObject(refused)
    expect(await reasons()).toBe('workload token: no rule allows it to enrol this principal')
  })

  it.each<[string, Json, string]>([
    ['another issuer', { iss: 'https://token.actions.githubusercontent.com/' }, 'iss is another issuer'],
    ['another audience', { aud: 'https://other.example' }, 'aud is not this server alone'],
    ['a second audience', { aud: [audience, 'https://other.example'] }, 'aud is not this server alone'],
    ['no audience', { aud: undefined }, 'aud is not this server alone'],
    ['an empty audience', { aud: [] }, 'aud is not this server alone'],
    ['our issuer where another audience was configured', { aud: 'http://127.0.0.1' }, 'aud is not this server alone'],
    ['no exp', { exp: undefined }, 'exp, iat or nbf is not a time'],
    ['no iat', { iat: undefined }, 'exp, iat or nbf is not a time'],
    ['exp as text', { exp: '9999999999' }, 'exp, iat or nbf is not a time'],
    ['iat below zero', { iat: -1.5 }, 'exp, iat or nbf is not a time'],
    ['an empty jti', { jti: '' }, 'jti is not a valid id'],
    ['a jti that is a number', { jti: 7 }, 'jti is not a valid id'],
  ])('is refused for %s', async (_name, claims, reason) => {
    expect(await enrolJob(jobClaims(claims))).toMatchObject(refused)
    expect(await reasons()).toBe(`workload token: ${reason}`)
  })

  it.each<[string, (now: number) => Json, string | undefined]>([
    ['in time, with the clock of the issuer ahead', (now) => ({ iat: now + 8, nbf: now + 8 }), undefined],
    ['in time, with fractions', (now) => ({ iat: now - 0.5, nbf: now + 0.5, exp: now + 30.25 }), undefined],
    ['just expired, within the tolerance', (now) => ({ exp: now - 5 }), undefined],
    ['expired', (now) => ({ exp: now - 10 }), 'expired'],
    ['too old', (now) => ({ iat: now - 611, nbf: now - 611, exp: now + 60 }), 'too old'],
    ['issued in the future', (now) => ({ iat: now + 60 }), 'not valid yet'],
    ['not valid yet', (now) => ({ nbf: now + 60 }), 'not valid yet'],
  ])('%s', async (_name, claims, reason) => {
    const answer = await enrolJob(jobClaims(claims(seconds())))
    expect(answer.status).toBe(reason === undefined ? 200 : 401)
    if (reason !== undefined) expect(await reasons()).toBe(`workload token: ${reason}`)
  })

  it.each<[string, () => unknown, string]>([
    ['another typ', () => ({ ...header(ci), typ: 'at+jwt' }), 'typ is of another token'],
    ['an algorithm that is not configured', () => ({ ...header(ci), alg: 'PS256' }), 'alg is not accepted'],
    ['none', () => ({ ...header(ci), alg: 'none' }), 'alg is not accepted'],
    ['HS256', () => ({ ...header(ci), alg: 'HS256' }), 'alg is not accepted'],
    ['a kid that is a number', () => ({ ...header(ci), kid: 1 }), 'kid is not a key name'],
    ['a kid that there is not', () => ({ ...header(ci), kid: '../ci-1' }), 'no key of the issuer fits'],
    ['crit', () => ({ ...header(ci), crit: ['exp'] }), 'malformed'],
  ])('is refused for a header with %s', async (_name, head, reason) => {
    expect(await enrolJob(jobClaims(), { head: head() })).toMatchObject(refused)
    expect(await reasons()).toBe(`workload token: ${reason}`)
  })

  it('is refused for a signature by another key, also when the token contains that key', async () => {
    const other = newAssertionKey('RS256', ci.kid)
    for (const head of [header(other), { ...header(other), jwk: other.publicJwk }]) {
      expect(await enrolJob(jobClaims(), { by: other, head })).toMatchObject(refused)
      expect(await reasons()).toBe('workload token: wrong signature')
    }
  })

  it('is unavailable while the keys cannot be fetched, and nothing is consumed', async () => {
    const rotated = newAssertionKey('RS256', 'ci-2')
    server.later(700_000)
    const device = await createDevice(server.issuer, job)
    const value = signAssertion(rotated, header(rotated), jobClaims())
    const enrol = () => device.enrol({ second_factor: { kind: 'ci_jwt', value } })
    for (const answer of [noAnswers['hangs'], noAnswers['redirects'], noAnswers['floods']]) {
      site.answer = answer!
      expect((await enrol()).status).toBe(503)
      server.later(11_000)
    }
    site.answer = keySet(ci, rotated)
    expect((await enrol()).status).toBe(200)
    expect(site.asked.every(({ method, path }) => method === 'GET' && path === '/jwks')).toBe(true)
  })

  it('has its keys fetched once for many requests, and not again for an invented kid', async () => {
    server.later(700_000)
    site.asked.length = 0
    const answers = await Promise.all(Array.from({ length: 10 }, () => enrolJob(jobClaims())))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    for (let count = 0; count < 5; count++)
      await enrolJob(jobClaims(), { head: { ...header(ci), kid: `made-up-${String(count)}` } })
    expect(site.asked).toHaveLength(1)
  })
})

describe('a pod of a cluster', () => {
  it('enrols with the token of its service account, once', async () => {
    const token = podToken({ jti: 'pod-1' })
    expect((await enrolPod(token)).status).toBe(200)
    expect(await enrolPod(token)).toMatchObject(refused)
    expect(await enrolPod(podToken({ jti: 'pod-1' }))).toMatchObject(refused)
    expect((await enrolPod(podToken({ jti: 'pod-2' }))).status).toBe(200)
  })

  it('enrols once with a token without jti, also when the signature is spelled another way', async () => {
    const token = podToken()
    expect((await enrolPod(token)).status).toBe(200)
    expect(await enrolPod(token)).toMatchObject(refused)
    const [head, body, tail = ''] = token.split('.')
    const signature = Buffer.from(tail, 'base64url')
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    const s = order - BigInt(`0x${signature.subarray(32).toString('hex')}`)
    const other = Buffer.concat([signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')])
    expect(await enrolPod(`${head!}.${body!}.${other.toString('base64url')}`)).toMatchObject(refused)
    const refusals = (await server.audit()).filter(({ event }) => event === 'attestation.refused')
    const reason = 'it was already used'
    expect(refusals.slice(-2).map((event) => event['reason'])).toEqual([reason, reason])
  })

  it('enrols one of many callers with the same token at once', async () => {
    const token = podToken({ jti: 'raced' })
    const answers = await Promise.all(Array.from({ length: 20 }, () => enrolPod(token)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(19)
  })

  it('consumes nothing when it is refused', async () => {
    const token = podToken({ jti: 'kept' })
    expect(await enrolPod(token, { ...pod, principal_id: 'other' })).toMatchObject(refused)
    expect((await enrolPod(token)).status).toBe(200)
  })

  it.each<[string, Json]>([
    ['another namespace', { sub: 'system:serviceaccount:default:ledger' }],
    ['more behind the pattern', { sub: 'system:serviceaccount:payments:ledger:admin' }],
    ['no uid', { 'kubernetes.io': { serviceaccount: {} } }],
    ['a list on the way', { 'kubernetes.io': [{ serviceaccount: { uid: '5f9b0c1e' } }] }],
    ['an inherited name', { 'kubernetes.io': 'text' }],
  ])('is refused with %s', async (_name, claims) => {
    expect(await enrolPod(podToken(claims))).toMatchObject(refused)
  })

  it.each(['', 'a', 'a.b.c', 'x'.repeat(9000)])('refuses what is no token: %#', async (token) => {
    expect(await enrolPod(token)).toMatchObject(refused)
  })

  it('leaves no token in log or audit', async () => {
    const token = podToken({ exp: 1 })
    await enrolPod(token)
    const written = server.logged() + JSON.stringify(await server.audit())
    expect(written).toContain('workload token: expired')
    expect(written).not.toContain(token.slice(0, 100))
    expect(written).not.toContain(token.split('.')[2])
  })
})
