import { beforeEach, describe, expect, it } from 'vitest'
import { memoryReplayGuard, type ResourceServer } from '../../libraries/verify/index.js'
import { createProver, type Wish } from '../support/clients/dpop-proof.js'
import { createApiUnderAttack } from '../support/verify/api-under-attack.js'

const { origin, clock, tokens, make, answer, ...time } = createApiUnderAttack()
const { prover, token, bound, proof, request } = tokens
beforeEach(time.reset)
const seconds = () => Math.floor(clock() / 1000)

const dpop = (text: string, sent: string | undefined, by?: ResourceServer) =>
  answer(request({ authorization: `DPoP ${text}`, dpop: sent }), { by })
const refusedProof = async (wish: Wish, by?: ResourceServer) => {
  const text = bound()
  return dpop(text, proof(text, wish), by)
}

describe('the DPoP proof', () => {
  it('VR37: is by the bound key, for this method, URL and token, and of now', async () => {
    const text = bound()
    const thief = createProver('ES256', clock)
    expect(await dpop(text, undefined)).toMatchObject({ reason: 'missing_proof', status: 401 })
    expect(await dpop(text, proof(text, {}, '/a', thief))).toMatchObject({
      reason: 'key_not_bound',
      challenge: expect.stringMatching(/^DPoP error="invalid_token", .*algs="/) as string,
    })
    expect((await refusedProof({ signature: () => Buffer.alloc(64, 1) })).reason).toBe('bad_proof')
    for (const htm of ['POST', 'get', undefined, ['GET']])
      expect((await refusedProof({ claims: { htm } })).reason).toBe('method_mismatch')
    for (const htu of [
      `${origin}/b`,
      `${origin}/a/`,
      'http://api.example/a',
      'https://api.example:444/a',
      'https://api.example.evil.example/a',
      'https://user@api.example/a',
      '/a',
      undefined,
      [`${origin}/a`],
    ])
      expect([htu, (await refusedProof({ claims: { htu } })).reason]).toEqual([htu, 'target_mismatch'])
    for (const htu of ['HTTPS://API.example:443/a', `${origin}/x/../a`, `${origin}/a?q=1#f`, `${origin}/%61`])
      expect([htu, (await refusedProof({ claims: { htu } })).reason]).toEqual([htu, 'accepted'])
    const other = bound()
    expect((await dpop(other, proof(text))).reason).toBe('token_mismatch')
    expect((await refusedProof({ claims: { ath: undefined } })).reason).toBe('token_mismatch')
    const iat = seconds()
    for (const wrong of [iat - 91, iat + 31, String(iat), undefined, null])
      expect([wrong, (await refusedProof({ claims: { iat: wrong } })).reason]).toEqual([wrong, 'proof_expired'])
    for (const good of [iat - 90, iat + 30, iat + 0.5])
      expect((await refusedProof({ claims: { iat: good } })).reason).toBe('accepted')
  })

  it('VR37: is for what the service is called, whatever the header Host says', async () => {
    const text = bound()
    const elsewhere = (host: string) =>
      new Request(`${host}/a`, { headers: { authorization: `DPoP ${text}`, dpop: proof(text) } })
    expect((await answer(elsewhere('https://evil.example'))).reason).toBe('accepted')
    expect((await answer(elsewhere(origin), { by: make({ origin: 'https://evil.example' }) })).reason).toBe(
      'target_mismatch',
    )
  })

  it('VR38: works once: while it could be accepted, in every process that shares the guard, and per key', async () => {
    const shared = memoryReplayGuard({ clock })
    const [one, two] = [make({ replay: shared }), make({ replay: shared })]
    const text = bound()
    const used = proof(text)
    expect((await dpop(text, used, one)).reason).toBe('accepted')
    for (const by of [one, two])
      expect(await dpop(text, used, by)).toMatchObject({ reason: 'replay_detected', status: 401 })
    time.later(90)
    expect((await dpop(text, used, two)).reason).toBe('replay_detected')
    time.later(1)
    expect((await dpop(text, used, two)).reason).toBe('proof_expired')
    const other = createProver('ES256', clock)
    const theirs = token({ cnf: { jkt: other.jkt } })
    const claims = { jti: 'same' }
    expect((await dpop(text, proof(text, { claims }), one)).reason).toBe('accepted')
    expect((await dpop(theirs, proof(theirs, { claims }, '/a', other), one)).reason).toBe('accepted')
    const race = proof(text)
    const answers = await Promise.all(Array.from({ length: 20 }, () => dpop(text, race, one)))
    expect(answers.filter(({ reason }) => reason === 'accepted')).toHaveLength(1)
  })

  it('VR39: has a nonce of the last minutes where the API wants one, also of another process', async () => {
    const dpopNonceSecret = 'one secret of two processes, long enough'
    const [one, two] = [make({ dpopNonceSecret }), make({ dpopNonceSecret })]
    const first = await refusedProof({}, one)
    expect(first).toMatchObject({ reason: 'use_dpop_nonce', status: 401 })
    expect(first.challenge).toMatch(/^DPoP error="use_dpop_nonce"/)
    const nonce = first.headers?.['dpop-nonce']
    expect(nonce).toMatch(/^[\w-]{43}$/)
    expect((await refusedProof({ claims: { nonce } }, two)).reason).toBe('accepted')
    time.later(180)
    expect((await refusedProof({ claims: { nonce } }, one)).reason).toBe('accepted')
    time.later(180)
    expect((await refusedProof({ claims: { nonce } }, one)).reason).toBe('use_dpop_nonce')
    for (const wrong of ['', 'x', 7, [nonce]])
      expect((await refusedProof({ claims: { nonce: wrong } }, one)).reason).toBe('use_dpop_nonce')
    const text = bound()
    const { headers } = await one.requireAccessToken().check(
      request({
        authorization: `DPoP ${text}`,
        dpop: proof(text, { claims: { nonce: (await refusedProof({}, one)).headers?.['dpop-nonce'] } }),
      }),
    )
    expect(headers['dpop-nonce']).toMatch(/^[\w-]{43}$/)
    expect(() => make({ dpopNonceSecret: 'short' })).toThrow(TypeError)
  })

  it('VR40: is a proof, whose key is public, and signed with an algorithm of the key', async () => {
    const { jwk } = prover
    for (const typ of [undefined, 'JWT', 'device-signature+jwt', 'at+jwt'])
      expect((await refusedProof({ header: { typ } })).reason).toBe('malformed_proof')
    for (const wrong of [
      undefined,
      null,
      'key',
      [],
      {},
      { ...jwk, d: 'AA' },
      { kty: 'oct', k: 'AA' },
      { kty: 'toString' },
      { ...jwk, x: 7 },
    ])
      expect([wrong, (await refusedProof({ header: { jwk: wrong } })).reason]).toEqual([wrong, 'bad_proof_key'])
    for (const alg of ['none', 'HS256', 'ES384', 'RS256', undefined, 7])
      expect([alg, (await refusedProof({ header: { alg } })).reason]).toEqual([alg, 'bad_proof_key'])
    for (const jti of [undefined, '', 7, 'x'.repeat(257)])
      expect((await refusedProof({ claims: { jti } })).reason).toBe('malformed_proof')
    const text = bound()
    for (const sent of [
      'x',
      'a.b.c',
      `${proof(text)}, ${proof(text)}`,
      proof(text, { claims: { more: 'x'.repeat(4000) } }),
    ])
      expect((await dpop(text, sent)).reason).toBe('malformed_proof')
  })

  it.each(['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'] as const)('may be signed with %s', async (alg) => {
    const by = createProver(alg, clock)
    const text = token({ cnf: { jkt: by.jkt } })
    expect((await dpop(text, proof(text, {}, '/a', by))).reason).toBe('accepted')
  })
})
