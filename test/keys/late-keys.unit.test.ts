import { expect, it } from 'vitest'
import { KeysRefused } from '../../core/keys/key-ring.js'
import { backend, ec, hour, key, never, open, start } from '../support/signers/memory-signer.js'

const mayBeLate = (kid: string): boolean => kid !== 'fixed'

it('KR91 a key that the backend does not have yet takes no other key with it, and is opened when it is there', async () => {
  const provider = backend(['present', ec()])
  const keys = [key('present'), key('next', { not_before: start + hour })]
  await expect(open(keys, provider)).rejects.toThrow(KeysRefused)
  await using ring = await open(keys, provider, undefined, { mayBeLate })
  expect(ring.find('next')).toMatchObject({ trust: 'refused', reason: 'next does not exist' })
  expect(ring.publishedKey('next')).toBeUndefined()
  expect(ring.signingKey('access_token', 'ES256').kid).toBe('present')
  provider.keys.set('next', ec())
  await ring.probe(never)
  expect(ring.find('next')?.trust).toBe('proved')
  expect(ring.publishedKey('next')).toBeDefined()
})

it('KR91 a late key whose signature does not verify signs nothing', async () => {
  const provider = backend(['present', ec()], ['next', ec()])
  provider.wrong.add('next')
  await using ring = await open([key('next'), key('present')], provider, undefined, { mayBeLate })
  expect(ring.find('next')?.trust).not.toBe('proved')
  expect(ring.signingKey('access_token', 'ES256').kid).toBe('present')
})

it('KR91 a key that signed in the ring before is taken over when the backend refuses it', async () => {
  const provider = backend(['present', ec()])
  await using before = await open([key('present')], provider)
  provider.keys.delete('present')
  const previous = { find: ({ kid }: { kid: string }) => before.find(kid), isAway: () => false }
  await expect(open([key('present')], provider, undefined, { previous })).rejects.toThrow(KeysRefused)
  await using ring = await open([key('present')], provider, undefined, { previous, mayBeLate })
  expect(ring.signingKey('access_token', 'ES256').kid).toBe('present')
})

it('a fixed key that the backend refuses needs an operator', async () => {
  const provider = backend(['present', ec()])
  const keys = [key('present'), key('fixed', { not_before: start + hour })]
  await expect(open(keys, provider, undefined, { mayBeLate })).rejects.toThrow(KeysRefused)
})
