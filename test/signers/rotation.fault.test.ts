import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { afterAll, describe, expect, it } from 'vitest'
import { keyPurposes } from '../../config/keys.js'
import type { SupervisedKeyRing } from '../../core/keys/key-ring.js'
import type { JwsAlg } from '../../core/jose/jwk.js'
import type { MadeSignature } from '../../core/keys/ports.js'
import { serialize } from '../../core/tokens/compact-serializer.js'
import { openChaosRing, order } from '../support/signers/signer-ring.js'

const minute = 60_000
const hour = 60 * minute
const start = Date.parse('2026-11-20T00:00:00Z')
const tokenLife = 10 * minute

let ring: SupervisedKeyRing | undefined
afterAll(() => ring?.[Symbol.asyncDispose]())

describe('F26 a key change with relying parties that keep the key set for an hour', () => {
  it('RS256 → ES256 → ES256 in another backend, one of which is down now and then: every token verifies at every moment', async () => {
    let now = start
    const all = { purposes: keyPurposes }
    const rsa: KeyObject = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const { open, chaos } = await openChaosRing(['r1', 'a1', 'b1'], {
      clock: () => now,
      limits: { probeMs: 1, maxProbeMs: 2, failures: 2 },
      keys: [
        { ...all, kid: 'r1', alg: 'RS256', signer: 'r', ref: 'r1', not_after: start + 6 * hour },
        { ...all, kid: 'b1', alg: 'ES256', signer: 'b', ref: 'b1', not_before: start + 9 * hour },
        {
          ...all,
          kid: 'a1',
          alg: 'ES256',
          signer: 'a',
          ref: 'a1',
          not_before: start + 5 * hour,
          not_after: start + 11 * hour,
        },
      ],
    })
    chaos('r').keys.set('r1', rsa)
    ring = await open()

    const read = (): JSONWebKeySet => JSON.parse(ring!.keySet().body.toString()) as JSONWebKeySet
    /** Ten relying parties, each of which reads the key set when its hour is over. */
    const parties = Array.from({ length: 10 }, (_, n) => ({ readAt: now - n * 6 * minute, set: read() }))
    let live: { token: string; expires: number }[] = []
    const kids = new Set<string>()
    const tokenOf = ({ input, signature }: MadeSignature) => serialize(input, signature)

    for (; now < start + 13 * hour; now += 3 * minute) {
      for (const party of parties) {
        if (now - party.readAt < hour) continue
        party.readAt = now
        party.set = read()
      }
      // The new backend is down for a while after its key has become the preferred one.
      chaos('b').tell(now > start + 10 * hour && now < start + 10.5 * hour ? { fault: 'throttle' } : {})
      const alg: JwsAlg = now < start + 5.5 * hour ? 'RS256' : 'ES256'
      for (let n = 0; n < 3; n++) {
        const made = await ring.sign(order({ alg }))
        kids.add(made.kid)
        live.push({ token: tokenOf(made), expires: now + tokenLife })
      }
      live = live.filter(({ expires }) => expires > now)
      for (const { set } of parties) {
        const keys = createLocalJWKSet(set)
        for (const { token } of live) await compactVerify(token, keys)
      }
    }
    expect([...kids]).toEqual(['r1', 'a1', 'b1'])
    expect(read().keys.map(({ kid }) => kid)).toEqual(['b1'])
  })
})
