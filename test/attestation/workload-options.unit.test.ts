import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { parseCompactJws } from '../../core/jose/compact-jws.js'
import { checkToken } from '../../plugins/attestation/workload-jwt/check-token.js'
import plugin from '../../plugins/attestation/workload-jwt/index.js'
import { newAssertionKey, signAssertion } from '../support/clients/client-assertion.js'
import { readDocument } from '../support/document.js'
import { createDevice } from '../support/clients/attestation.js'
import { spellingsOf } from '../support/forge/type-spellings.js'
import { startFactorServer } from '../support/server/factor-server.js'

type Json = Record<string, unknown>

const cluster = newAssertionKey('ES256', 'cluster-1')
const kubernetes = 'https://kubernetes.default.svc.cluster.local'

it('the token of a workload may spell its type in another case', () => {
  const claims = { iss: kubernetes, aud: 'https://id.example', iat: 0, exp: 60, jti: 'one' }
  const rules = { issuer: kubernetes, audience: 'https://id.example', maxAgeSeconds: 60, toleranceSeconds: 0 }
  const check = (typ: string) => {
    const jws = parseCompactJws(signAssertion(cluster, { alg: 'ES256', typ }, claims))
    return jws && checkToken(jws, { ...rules, clock: () => 0 })
  }
  for (const typ of ['JWT', ...spellingsOf('JWT')]) expect(check(typ)).toMatchObject({ id: 'jti:one' })
  for (const typ of ['at+jwt', 'text/jwt', '']) expect(check(typ)).toBe('typ is of another token')
})

describe('options of the workload token', () => {
  const rule = { when: { sub: 'a' }, principal: { subject: '{sub}', principal_id: 'x' } }
  const good = { issuer: kubernetes, jwks: { keys: [cluster.publicJwk] }, rules: [rule] }
  it.each<[string, Json, RegExp]>([
    ['both kinds of keys', { jwks_uri: 'https://a.example/jwks' }, /exactly one of jwks_uri and jwks/],
    ['no keys', { jwks: undefined }, /exactly one of jwks_uri and jwks/],
    ['http that is not loopback', { jwks: undefined, jwks_uri: 'http://a.example/' }, /jwks_uri.*https/],
    ['a private key', { jwks: { keys: [cluster.privateKey.export({ format: 'jwk' })] } }, /jwks.*private/],
    ['HS256', { algs: ['HS256'] }, /algs/],
    ['no rule', { rules: [] }, /rules.*at least one/],
    ['a rule for everybody', { rules: [{ ...rule, when: {} }] }, /when.*at least one claim/],
    ['a broken template', { rules: [{ ...rule, principal: { subject: '{sub', principal_id: 'x' } }] }, /brace/],
    ['claims side by side', { rules: [{ ...rule, principal: { subject: '{a}{b}', principal_id: 'x' } }] }, /between/],
  ])('refuses %s', async (_name, options, problem) => {
    const plugin = { use: 'plugins/attestation/workload-jwt', options: { ...good, ...options } }
    const error = await startFactorServer([plugin]).catch((caught: unknown) => caught)
    expect(JSON.stringify((error as { problems: unknown }).problems)).toMatch(problem)
  })

  it('accepts those of the documents', async () => {
    const text = readDocument('docs/attestation-factors.md')
    const blocks = [...text.matchAll(/^```yaml\n(- use: plugins\/attestation\/workload-jwt\n[\s\S]*?)^```$/gm)]
    const entries = blocks.flatMap(([, yaml = '']) => parse(yaml) as { options: unknown }[])
    expect(entries).toHaveLength(2)
    for (const { options } of entries)
      expect((await plugin.options?.['~standard'].validate(options))?.issues).toBeUndefined()
  })
})

it('a token enrols once, even if two kinds share an issuer', async () => {
  const options = {
    issuer: kubernetes,
    jwks: { keys: [cluster.publicJwk] },
    rules: [{ when: { sub: 'a' }, principal: { subject: '{sub}', principal_id: 'x' } }],
  }
  await using server = await startFactorServer([
    { use: 'plugins/attestation/workload-jwt', options },
    { use: 'plugins/attestation/workload-jwt', options: { ...options, kind: 'other' } },
  ])
  const iat = Math.floor(server.now() / 1000)
  const claims = { iss: kubernetes, aud: server.issuer, sub: 'a', iat, exp: iat + 60, jti: 'one' }
  const value = signAssertion(cluster, { alg: 'ES256', kid: cluster.kid }, claims)
  const device = await createDevice(server.issuer, { subject: 'a', principal_id: 'x', principal_type: 'service' })
  const enrol = async (kind: string) => (await device.enrol({ second_factor: { kind, value } })).status
  expect([await enrol('workload_jwt'), await enrol('other')]).toEqual([200, 401])
})
