import type { KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { KeysRefused } from '../../core/keys/key-ring.js'
import type { PublicJwk } from '../../core/jose/jwk.js'
import { Unavailable } from '../../core/unavailable.js'
import { backend, ec, ed, hour, key, never, open, start } from '../support/signers/memory-signer.js'

const problemsOf = async (opening: Promise<unknown>): Promise<readonly { path: string; message: string }[]> => {
  const error: unknown = await opening.catch((cause: unknown) => cause)
  expect(error).toBeInstanceOf(KeysRefused)
  return (error as KeysRefused).problems
}

describe('opening', () => {
  it('reports all problems at once, with their paths', async () => {
    const same = ec()
    const provider = backend(['a', same], ['b', same], ['c', ec()], ['d', ed()], ['wrong', ec()])
    provider.wrong.add('wrong')
    const problems = await problemsOf(
      open(
        [
          key('a'),
          key('b'),
          key('a', { ref: 'c' }),
          key('d'),
          key('missing'),
          key('e', { signer: 'hsm' }),
          key('wrong'),
        ],
        provider,
      ),
    )
    expect(Object.fromEntries(problems.map(({ path, message }) => [path, message]))).toEqual({
      'keys[1].ref': 'is the same key as keys[0]',
      'keys[2].kid': 'a is also the kid of keys[0]',
      'keys[3]': 'The type of key is not accepted.',
      'keys[4]': 'missing does not exist',
      'keys[5].signer': 'there is no signer named hsm',
      'keys[6]': 'its signature does not verify with its public key',
    })
  })

  it('refuses a public half that the guard refuses, and one with private members', async () => {
    const provider = backend(['a', ec()], ['b', ec()])
    provider.published.set('a', { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) })
    provider.published.set('b', (provider.keys.get('b') as KeyObject).export({ format: 'jwk' }) as unknown as PublicJwk)
    const problems = await problemsOf(open([key('a'), key('b')], provider))
    expect(problems).toEqual([
      { path: 'keys[0]', message: 'The key is not a valid public key.' },
      { path: 'keys[1]', message: 'The key has private or symmetric members.' },
    ])
  })

  it('does not open removed keys, nor probe retired ones', async () => {
    const provider = backend(['retired', ec()], ['active', ec()])
    provider.down.add('retired')
    const ring = await open(
      [key('gone', { not_after: start - hour }), key('retired', { not_after: start - 1 }), key('active')],
      provider,
    )
    expect(provider.opened).toEqual(['retired', 'active'])
    expect(ring.states().map(({ state }) => state)).toEqual(['gone', 'retired', 'active'])
    expect(ring.publishedKey('gone')).toBeUndefined()
  })
})

describe('probes', () => {
  it('are signed by active and next keys; one that signs wrongly is not used until it recovers', async () => {
    const provider = backend(['a', ec()], ['b', ec()], ['n', ec()], ['r', ec()])
    const ring = await open(
      [key('a'), key('b'), key('n', { not_before: start + 1 }), key('r', { not_after: start - 1 })],
      provider,
    )
    const outcomes = async () => (await ring.probe(never)).map(({ kid, outcome }) => `${kid} ${outcome}`)
    expect(await outcomes()).toEqual(['a passed', 'b passed', 'n passed'])
    const before = ring.keySet().etag

    provider.wrong.add('a')
    expect(await outcomes()).toEqual(['a failed', 'b passed', 'n passed'])
    expect(ring.signingKey('access_token', 'ES256').kid).toBe('b')
    expect(ring.publishedKey('a')).toBeDefined()
    expect(ring.keySet().etag).toBe(before)

    provider.wrong.add('b')
    await ring.probe(never)
    expect(() => ring.signingKey('access_token', 'ES256')).toThrow(Unavailable)

    provider.wrong.clear()
    expect(await outcomes()).toEqual(['a passed', 'b passed', 'n passed'])
    expect(ring.signingKey('access_token', 'ES256').kid).toBe('a')
  })

  it('do not count during an outage', async () => {
    const provider = backend(['a', ec()])
    const ring = await open([key('a')], provider)
    provider.down.add('a')
    expect((await ring.probe(never))[0]).toMatchObject({ kid: 'a', signer: 'memory', outcome: 'unavailable' })
    expect(ring.signingKey('access_token', 'ES256').kid).toBe('a')
  })
})
