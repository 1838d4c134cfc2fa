import { createHash } from 'node:crypto'
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { describe, expect, it } from 'vitest'
import { serialize, signingInput } from '../../core/tokens/compact-serializer.js'
import { Unavailable } from '../../core/unavailable.js'
import { backend, ec, ed, hour, key, never, open, publicHalf, start } from '../support/signers/memory-signer.js'

describe('states by clock', () => {
  it('next, active, retired, gone, to the millisecond', async () => {
    const time = { now: start - 1 }
    const ring = await open([key('a', { not_before: start, not_after: start + hour })], backend(['a', ec()]), time)
    const stateAt = (now: number) => {
      time.now = now
      return ring.states()[0]?.state
    }
    const gone = start + hour + 610_000
    expect([start - 1, start, start + hour - 1, start + hour, gone - 1, gone].map(stateAt)).toEqual([
      'next',
      'active',
      'active',
      'retired',
      'retired',
      'gone',
    ])
    // A clock that is set back.
    expect(stateAt(start)).toBe('active')
    expect(stateAt(start - 1)).toBe('next')
  })

  it('publishes next, active and retired keys and signs with active ones alone', async () => {
    const time = { now: start - 1 }
    const ring = await open([key('a', { not_before: start, not_after: start + hour })], backend(['a', ec()]), time)
    const seen = [start - 1, start, start + hour, start + hour + 610_000].map((now) => {
      time.now = now
      let signs = true
      try {
        ring.signingKey('access_token', 'ES256')
      } catch (error) {
        expect(error).toBeInstanceOf(Unavailable)
        signs = false
      }
      const set = JSON.parse(ring.keySet().body.toString()) as JSONWebKeySet
      return [signs, set.keys.length, ring.publishedKey('a') !== undefined, ring.algorithms('id_token')]
    })
    expect(seen).toEqual([
      [false, 1, true, ['ES256']],
      [true, 1, true, ['ES256']],
      [false, 1, true, []],
      [false, 0, false, []],
    ])
  })

  it('keeps a retired key for as long as the longest token of its purposes', async () => {
    const time = { now: start }
    const ring = await open(
      [
        key('short', { purposes: ['access_token'], not_after: start + 1 }),
        key('long', { purposes: ['access_token', 'id_token'], not_after: start + 1 }),
      ],
      backend(['short', ec()], ['long', ec()]),
      time,
      { retentionSeconds: (purposes) => (purposes.includes('id_token') ? 3610 : 610) },
    )
    const at = (now: number) => {
      time.now = now
      return ring.states().map(({ state }) => state)
    }
    expect(at(start + 610_000)).toEqual(['retired', 'retired'])
    expect(at(start + 610_001)).toEqual(['gone', 'retired'])
    expect(at(start + 3_610_001)).toEqual(['gone', 'gone'])
  })

  it('every token verifies at every moment of a rotation, for relying parties with a cached key set', async () => {
    const time = { now: start }
    const lifetime = 600
    const cache = hour / 1000
    const ring = await open(
      [
        key('old', { not_after: start + 5 * hour }),
        key('new', { not_before: start + 5 * hour, not_after: start + 10 * hour }),
        key('newest', { not_before: start + 10 * hour }),
      ],
      backend(['old', ec()], ['new', ec()], ['newest', ec()]),
      time,
      { cacheSeconds: cache },
    )
    interface Issued {
      readonly token: string
      readonly expires: number
    }
    let live: Issued[] = []
    let cached = { set: JSON.parse(ring.keySet().body.toString()) as JSONWebKeySet, until: start + cache * 1000 }
    let verified = 0
    const kids = new Set<string>()
    for (; time.now < start + 15 * hour; time.now += 5 * 60_000) {
      if (time.now >= cached.until)
        cached = { set: JSON.parse(ring.keySet().body.toString()) as JSONWebKeySet, until: time.now + cache * 1000 }
      const { kid, alg, signer } = ring.signingKey('access_token', 'ES256')
      kids.add(kid)
      const input = signingInput({ kid, alg, typ: 'at+jwt' }, { iat: time.now })
      live.push({
        token: serialize(input, await signer.sign(Buffer.from(input), never)),
        expires: time.now + lifetime * 1000,
      })
      live = live.filter(({ expires }) => expires > time.now)
      for (const { token } of live) {
        await compactVerify(token, createLocalJWKSet(cached.set))
        expect(ring.publishedKey(kidOf(token))).toBeDefined()
        verified++
      }
    }
    expect(verified).toBeGreaterThan(180)
    expect([...kids]).toEqual(['old', 'new', 'newest'])
  })
})

const kidOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid

describe('preference and purpose lock', () => {
  it('the first listed active key signs, for its purposes alone', async () => {
    const ring = await open(
      [
        key('id', { purposes: ['id_token'] }),
        key('next', { not_before: start + 1 }),
        key('first'),
        key('second'),
        key('ed', { alg: 'EdDSA' }),
      ],
      backend(['id', ec()], ['next', ec()], ['first', ec()], ['second', ec()], ['ed', ed()]),
    )
    expect(ring.signingKey('id_token', 'ES256').kid).toBe('id')
    expect(ring.signingKey('access_token', 'ES256').kid).toBe('first')
    expect(ring.signingKey('introspection', 'EdDSA').kid).toBe('ed')
    expect(() => ring.signingKey('access_token', 'RS256')).toThrow(Unavailable)
    expect(ring.algorithms('access_token')).toEqual(['ES256', 'EdDSA'])
  })

  it('a key for one purpose signs nothing else', async () => {
    const ring = await open([key('id', { purposes: ['id_token'] })], backend(['id', ec()]))
    expect(() => ring.signingKey('access_token', 'ES256')).toThrow(Unavailable)
    expect(ring.algorithms('access_token')).toEqual([])
  })

  it('finds a published key by its kid and by nothing else', async () => {
    const ring = await open([key('a')], backend(['a', ec()]))
    expect(ring.publishedKey('a')?.kid).toBe('a')
    for (const kid of ['', 'A', '__proto__', 'constructor', 'toString', '../a', "a' OR '1'='1", 'x'.repeat(10_000)])
      expect(ring.publishedKey(kid), kid.slice(0, 20)).toBeUndefined()
  })
})

describe('/jwks.json', () => {
  it('has kid, alg, use and the public members of every key, in order, and a strong ETag', async () => {
    const [a, b] = [ec(), ed()]
    const ring = await open([key('a'), key('b', { alg: 'EdDSA' })], backend(['a', a], ['b', b]))
    const { body, etag, maxAgeSeconds } = ring.keySet()
    expect(JSON.parse(body.toString())).toEqual({
      keys: [
        { ...publicHalf(a), kid: 'a', alg: 'ES256', use: 'sig' },
        { ...publicHalf(b), kid: 'b', alg: 'EdDSA', use: 'sig' },
      ],
    })
    expect(etag).toBe(`"${createHash('sha256').update(body).digest('base64url')}"`)
    expect(maxAgeSeconds).toBe(3600)
  })

  it('is rebuilt only when a state changes', async () => {
    const time = { now: start }
    const ring = await open(
      [key('a', { not_after: start + hour }), key('b', { not_before: start + hour })],
      backend(['a', ec()], ['b', ec()]),
      time,
    )
    const first = ring.keySet()
    time.now = start + hour - 1
    expect(ring.keySet().body).toBe(first.body)
    time.now = start + hour + 610_000
    const last = ring.keySet()
    expect(last.etag).not.toBe(first.etag)
    time.now += 1000 * hour
    expect(ring.keySet().body).toBe(last.body)
  })
})
