import { createHash, generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import type { PublicJwk } from '../../core/jose/jwk.js'
import type { PublishedKey } from '../../core/keys/ports.js'
import { createSubjects } from '../../core/oauth/subjects/subjects.js'
import { createAccessTokenVerifier } from '../../core/tokens/access-token-verifier.js'
import { createIdentifyToken } from '../../core/tokens/identify-token.js'
import { forge } from '../support/forge/forge.js'

const start = Date.UTC(2026, 10, 20)
const issuer = 'https://id.bank.example'
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicKey.export({ format: 'jwk' }) as PublicJwk
const published: PublishedKey = { kid: 'k', alg: 'ES256', jwk, publicKey, purposes: ['access_token'] }

const token = (jti: string, ttl: number): string => {
  const iat = start / 1000
  const claims = { iss: issuer, sub: 's', client_id: 'c', jti, iat, exp: iat + ttl }
  return forge(privateKey, { alg: 'ES256', kid: 'k', typ: 'at+jwt' }, claims)
}

const setUp = () => {
  const state = { now: start, key: published as PublishedKey | undefined }
  const ring = {
    publishedKey: (kid: string) => (kid === 'k' ? state.key : undefined),
  }
  const families = { start: unused, rotate: unused, remove: unused, find: () => Promise.resolve(undefined) }
  const verification = { ring, issuer, clock: () => state.now, toleranceSeconds: 10 }
  const accessTokenVerifier = createAccessTokenVerifier(verification, createSubjects())
  /** As the issuer reports what it signed. */
  const signed = (text: string, publishedKey = published): void => {
    const digest = createHash('sha256')
      .update(text.slice(0, text.lastIndexOf('.')))
      .digest('base64url')
    const record = { kid: 'k', alg: 'ES256', typ: 'at+jwt', purpose: 'access_token', digest, signer: 's' } as const
    accessTokenVerifier.signed({
      token: text,
      publishedKey,
      record: { ...record, reference: undefined, key_version: undefined },
    })
  }
  return { state, signed, identify: createIdentifyToken({ accessTokenVerifier, families }) }
}

const unused = (): Promise<never> => Promise.reject(new Error('not to be called'))

it('a remembered token expires with its exp and the tolerance', async () => {
  const { state, identify } = setUp()
  const text = token('grant.one', 600)
  const first = await identify(text)
  expect(first).toMatchObject({ kind: 'access_token', clientId: 'c', jti: 'grant.one', grantId: 'grant' })
  expect(await identify(text)).toBe(first)
  state.now += 609_000
  expect(await identify(text)).toBe(first)
  state.now += 1_000
  expect(await identify(text)).toBeUndefined()
})

it('a remembered token is not valid before its time, by a clock that was set back', async () => {
  const { state, identify } = setUp()
  const text = token('grant.one', 600)
  const first = await identify(text)
  state.now -= 10_000
  expect(await identify(text)).toBe(first)
  state.now -= 1_000
  expect(await identify(text)).toBeUndefined()
})

it('a remembered token ends with its key, and is verified again when the key is another', async () => {
  const { state, identify } = setUp()
  const text = token('grant.one', 600)
  const first = await identify(text)
  state.key = undefined
  expect(await identify(text)).toBeUndefined()
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
  state.key = { ...published, jwk: other.export({ format: 'jwk' }) as PublicJwk, publicKey: other }
  expect(await identify(text)).toBeUndefined()
  state.key = published
  expect(await identify(text)).toEqual(first)
})

it('what does not verify is not remembered', async () => {
  const { identify } = setUp()
  const text = token('grant.one', 600)
  const [head, , tail] = text.split('.')
  const body = Buffer.from(JSON.stringify({ iss: issuer, sub: 'other' })).toString('base64url')
  for (let attempt = 0; attempt < 2; attempt++) {
    expect(await identify(`${head}.${body}.${tail}`)).toBeUndefined()
    expect(await identify('x')).toBeUndefined()
  }
  expect(await identify(text)).toBeDefined()
})

it('remembers a bounded number: more of them push the oldest out', async () => {
  const { identify } = setUp()
  const text = token('grant.one', 600)
  const first = await identify(text)
  for (let count = 0; count < 8192; count++) await identify(token(`grant.${count}`, 600))
  const again = await identify(text)
  expect(again).toEqual(first)
  expect(again).not.toBe(first)
})

const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
/** Verifies nothing that `token` makes: what passes with it was not verified. */
const otherKey: PublishedKey = { ...published, jwk: other.export({ format: 'jwk' }) as PublicJwk, publicKey: other }

it('what this process signed is not verified, for as long as the key is the one that signed it', async () => {
  const { state, signed, identify } = setUp()
  state.key = otherKey
  const text = token('grant.one', 600)
  expect(await identify(text)).toBeUndefined()
  signed(text, otherKey)
  const first = await identify(text)
  expect(first).toMatchObject({ jti: 'grant.one' })
  expect(await identify(text)).toBe(first)
  state.key = { ...otherKey }
  expect(await identify(text)).toBeUndefined()
  state.key = undefined
  expect(await identify(text)).toBeUndefined()
})

it('what this process signed has one signature, one content and its time', async () => {
  const { state, signed, identify } = setUp()
  const text = token('grant.one', 600)
  signed(text)
  const [head = '', body = '', tail = ''] = text.split('.')
  const [, , otherTail] = token('grant.two', 600).split('.')
  const [, otherBody] = token('grant.two', 600).split('.')
  for (const altered of [
    `${head}.${body}.${otherTail}`,
    `${head}.${otherBody}.${tail}`,
    `${head}.${body}.`,
    `${head}.${body}`,
    `${text}=`,
    `${text}.${tail}`,
    ` ${text}`,
  ])
    expect(await identify(altered), altered).toBeUndefined()
  state.now += 610_000
  expect(await identify(text)).toBeUndefined()
  state.now -= 610_000
  expect(await identify(text)).toMatchObject({ jti: 'grant.one' })
})

it('what this process signed as something else is no access token', async () => {
  const { signed, identify } = setUp()
  const iat = start / 1000
  const claims = { iss: issuer, sub: 's', client_id: 'c', jti: 'grant.one', iat, exp: iat + 600 }
  const text = forge(privateKey, { alg: 'ES256', kid: 'k', typ: 'JWT' }, claims)
  signed(text)
  expect(await identify(text)).toBeUndefined()
})

it('nobody can change the answer about a token for the next caller', async () => {
  const { identify } = setUp()
  const text = token('grant.one', 600)
  const identified = await identify(text)
  if (identified?.kind !== 'access_token') throw new Error('not identified')
  expect(() => Object.assign(identified.claims, { sub: 'mallory' })).toThrow(TypeError)
  expect(await identify(text)).toMatchObject({ claims: { sub: 's' } })
})

it('a key that goes while a token is verified takes the token with it', async () => {
  const { state, identify } = setUp()
  const text = token('grant.one', 600)
  const underway = identify(text)
  state.key = undefined
  await underway
  expect(await identify(text)).toBeUndefined()
})
