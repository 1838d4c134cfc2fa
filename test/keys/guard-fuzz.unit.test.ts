import fc from 'fast-check'
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { allAlgorithms } from '../../core/jose/algorithms.js'
import { BadJwk, checkPublicJwk } from '../../core/jose/public-key-guard.js'

const good = [
  generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  generateKeyPairSync('ed25519'),
  generateKeyPairSync('rsa', { modulusLength: 2048 }),
].map(({ publicKey }) => publicKey.export({ format: 'jwk' }) as Record<string, string>)
const thumbprints = new Set(good.map((jwk) => checkPublicJwk(jwk, allAlgorithms).thumbprint))

const names = [
  'kty',
  'crv',
  'x',
  'y',
  'n',
  'e',
  'd',
  'k',
  'alg',
  'use',
  'key_ops',
  'kid',
  'x5c',
  '__proto__',
  'toString',
]

/** Accepted, or refused with `BadJwk`; anything else fails the test. */
const accepts = (input: unknown): string | undefined => {
  try {
    return checkPublicJwk(input, allAlgorithms).thumbprint
  } catch (error) {
    if (error instanceof BadJwk) return undefined
    throw error
  }
}

describe('the guard under fuzzing', () => {
  it('refuses arbitrary JSON with BadJwk and nothing else', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => accepts(input) === undefined),
      { numRuns: 2000 },
    )
  })

  it('refuses arbitrary values of known members', () => {
    const member = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.jsonValue(),
      fc.constantFrom('EC', 'RSA', 'OKP', 'P-256', 'Ed25519', 'AQAB'),
    )
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), member), (input) => {
        accepts(input)
      }),
      { numRuns: 3000 },
    )
  })

  it('a valid key with one member changed, added or removed is refused or the same key', () => {
    const change = fc.oneof(fc.jsonValue(), fc.string(), fc.base64String())
    fc.assert(
      fc.property(fc.constantFrom(...good), fc.constantFrom(...names), fc.option(change), (jwk, name, value) => {
        const taken = Object.hasOwn(jwk, name) ? jwk[name] : undefined
        const rest = Object.fromEntries(Object.entries(jwk).filter(([other]) => other !== name))
        const thumbprint = accepts(value === null ? rest : { ...jwk, [name]: value })
        if (thumbprint === undefined) return
        // A member that the key had stands for itself: any other value of it is another key or none.
        if (taken === undefined) expect(thumbprints).toContain(thumbprint)
        else expect(value === taken || !thumbprints.has(thumbprint)).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })

  it('a valid key with one character changed is refused or a different key', () => {
    const edit = fc.record({
      at: fc.nat(400),
      put: fc.oneof(
        fc.constantFrom('', '=', ' ', '\n', '+', '/', '\0', 'A', '_'),
        fc.string({ minLength: 1, maxLength: 2 }),
      ),
      replace: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.constantFrom(...good),
        fc.constantFrom('x', 'y', 'n', 'e', 'kty', 'crv'),
        edit,
        (jwk, name, { at, put, replace }) => {
          const text = jwk[name]
          if (text === undefined) return
          const position = at % (text.length + 1)
          const edited = text.slice(0, position) + put + text.slice(position + (replace ? 1 : 0))
          const thumbprint = accepts({ ...jwk, [name]: edited })
          expect(edited === text ? thumbprints.has(thumbprint ?? '') : !thumbprints.has(thumbprint ?? '')).toBe(true)
        },
      ),
      { numRuns: 4000 },
    )
  })
})
