import { generateKeyPairSync, randomBytes, randomUUID, type JsonWebKey } from 'node:crypto'
import fc from 'fast-check'
import { basic } from '../test/support/clients/clients.js'
import type { FuzzSeeds } from '../test/support/forge/fuzz-seeds.js'
import { fuzzedRequests, type Fuzzed } from '../test/support/forge/fuzzed-requests.js'
import { assertionType } from '../test/support/clients/client-assertion.js'
import { redirectUri, serviceClient, webClient } from '../test/support/server/server.js'

/** A kind of attack. `next` is called repeatedly. */
export interface Hostility {
  readonly name: string
  readonly next: (turn: number) => Fuzzed
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' }
const jsonType = { 'content-type': 'application/json' }
const asService = { ...formType, authorization: basic(serviceClient) }

const post = (target: string, body: string, headers: Readonly<Record<string, string>> = formType): Fuzzed => ({
  method: 'POST',
  target,
  headers,
  body,
})
const get = (target: string, headers: Readonly<Record<string, string>> = {}): Fuzzed => ({
  method: 'GET',
  target,
  headers,
  body: '',
})
const form = (fields: Readonly<Record<string, string>>): string => new URLSearchParams(fields).toString()
const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const filled = (length: number, unit: string, end = ''): string =>
  unit.repeat(Math.floor((length - end.length) / unit.length)) + end
const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth)

/** Each `next` returns one of these in turn. */
const cycle = (name: string, requests: readonly Fuzzed[]): Hostility => ({
  name,
  next: (turn) => requests[turn % requests.length]!,
})

const formBytes = 64 * 1024
const forms = (): readonly Fuzzed[] => {
  const bodies = [
    `grant_type=${filled(formBytes - 11, 'a')}`,
    `grant_type=client_credentials&scope=${filled(formBytes - 40, 'read+')}`,
    filled(formBytes, '%41%42'),
    filled(formBytes, '+'),
    filled(formBytes, '&'),
    filled(formBytes, 'a=a&'),
    filled(formBytes, '%C3%28='),
    filled(formBytes, '\xff'),
    Array.from({ length: 99 }, (_, index) => `p${String(index)}=${'x'.repeat(640)}`).join('&'),
    filled(formBytes + 1, 'a'),
  ]
  const paths = ['/token', '/introspect', '/revoke', '/userinfo', '/device_authorization', '/device/verify']
  return bodies.flatMap((body) => paths.map((path) => post(path, body, asService)))
}

const jsonBytes = 32 * 1024
const jsons = (): readonly Fuzzed[] => {
  const half = jsonBytes / 2
  const bodies = [
    nested(half, '[', ']'),
    nested(Math.floor(jsonBytes / 6), '{"a":', '}').replace(':}', ':1}'),
    `{"attributes":${nested(half - 20, '[', ']')}}`,
    `{${Array.from({ length: 3000 }, (_, index) => `"m${String(index)}":0`).join(',')}}`,
    `{"attributes":{${Array.from({ length: 2900 }, (_, index) => `"${String(index)}":0`).join(',')}}}`,
    `{"subject":"${filled(jsonBytes - 20, '\\u0041')}"}`,
    `{"subject":"${filled(jsonBytes - 20, 'a')}"}`,
    `{"subject":${filled(jsonBytes - 20, '9')}}`,
    `{"public_jwk":{"kty":"RSA","e":"AQAB","n":"${filled(jsonBytes - 60, 'A')}"}}`,
    `{"challenge":"x","challenge_signature":"${filled(jsonBytes - 60, 'A.')}"}`,
    `{"attestation":"${filled(jsonBytes - 60, 'eyJ.')}"}`,
    filled(jsonBytes, ' ', '{'),
    filled(jsonBytes, '{"a":1,"a":1}'),
  ]
  const paths = ['/enrol', '/enrol/complete', '/reissue', '/challenge']
  return bodies.flatMap((body) => paths.map((path) => post(path, body, jsonType)))
}

const headBytes = 15 * 1024
const heads = (seeds: FuzzSeeds): readonly Fuzzed[] => {
  const [cookie = ''] = seeds.cookies
  const many = Object.fromEntries(Array.from({ length: 95 }, (_, index) => [`x-h${String(index)}`, 'y'.repeat(140)]))
  const headers: readonly Readonly<Record<string, string>>[] = [
    { cookie: filled(headBytes, 'a=b; ', cookie) },
    { cookie: filled(headBytes, ';') },
    { cookie: filled(headBytes, '"') },
    { authorization: `Basic ${filled(headBytes, 'QUFB')}` },
    { authorization: `Basic ${Buffer.from(filled(11_000, '%3A')).toString('base64')}` },
    { authorization: `Bearer ${filled(headBytes, 'eyJ.')}` },
    { authorization: filled(headBytes, 'Basic ') },
    { dpop: filled(headBytes, 'eyJ') },
    { 'accept-language': filled(headBytes, 'de,') },
    { 'if-none-match': filled(headBytes, '"a", ') },
    { 'x-forwarded-for': filled(headBytes, '1.2.3.4, ') },
    { 'content-type': filled(headBytes, 'a;', 'b') },
    { traceparent: filled(headBytes, '00-'), tracestate: 'a=b' },
    { accept: filled(headBytes, 'text/html;q=0.1,') },
    many,
  ]
  const targets = [
    '/token',
    '/userinfo',
    '/authorize?client_id=web',
    `/interaction/${seeds.interaction}/login`,
    '/device',
  ]
  return headers.flatMap((head) =>
    targets.flatMap((target) => [get(target, head), post(target, 'a=b', { ...formType, ...head })]),
  )
}

const queries = (seeds: FuzzSeeds): readonly Fuzzed[] => {
  const right = { client_id: 'web', redirect_uri: redirectUri, response_type: 'code' }
  const length = 12 * 1024
  const wrong: readonly Readonly<Record<string, string>>[] = [
    { scope: filled(length, 'openid ') },
    { scope: Array.from({ length: 2000 }, (_, index) => `s${String(index)}`).join(' ') },
    { claims: nested(length / 6, '[', ']') },
    { claims: `{"id_token":{${Array.from({ length: 600 }, (_, index) => `"c${String(index)}":null`).join(',')}}}` },
    { redirect_uri: `${redirectUri}?${filled(length, 'a=b&')}` },
    { redirect_uri: filled(length, 'https://a@') },
    { resource: `https://api.example/${filled(length, 'a/')}` },
    { id_token_hint: filled(length, 'eyJ') },
    { id_token_hint: `${encode({ alg: 'ES256', kid: 'es256', typ: 'JWT' })}.${filled(9000, 'e30')}.${'A'.repeat(86)}` },
    { prompt: filled(length, 'login ') },
    { max_age: filled(length, '9') },
    { ui_locales: filled(length, 'de-DE ') },
    { acr_values: filled(length, 'urn:a ') },
    { login_hint: filled(length, '<') },
    { state: filled(length, '"') },
    { nonce: filled(length, '\\') },
    { code_challenge: filled(length, 'A'), code_challenge_method: 'S256' },
  ]
  const cookies = ['', ...seeds.cookies]
  return wrong.flatMap((fields) =>
    cookies.map((cookie) => get(`/authorize?${form({ ...right, ...fields })}`, cookie === '' ? {} : { cookie })),
  )
}

const signatureBytes = { ES256: 64, ES384: 96, EdDSA: 64, PS256: 512, RS512: 512 } as const
type ProofAlg = keyof typeof signatureBytes

const newPublicJwk = (alg: ProofAlg): JsonWebKey => {
  if (alg === 'PS256' || alg === 'RS512') {
    // The modulus need not be a product, because verification costs the same.
    const modulus = randomBytes(512)
    modulus[0]! |= 0x80
    modulus[511]! |= 1
    return { kty: 'RSA', e: 'AQAB', n: modulus.toString('base64url') }
  }
  // Exported on creation, because Node 20 can deadlock when it exports a key later.
  const publicKeyEncoding = { format: 'jwk' } as unknown as { type: 'spki'; format: 'pem' }
  const encoded = { publicKeyEncoding, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } } as const
  const pair =
    alg === 'EdDSA'
      ? generateKeyPairSync('ed25519', encoded)
      : generateKeyPairSync('ec', { namedCurve: alg === 'ES256' ? 'P-256' : 'P-384', ...encoded })
  return pair.publicKey as unknown as JsonWebKey
}

const now = (): number => Math.floor(Date.now() / 1000)

/** Proofs that are valid except for the signature, each with a new key. */
const proofs = (issuer: string, alg: ProofAlg): Hostility => {
  const keys = Array.from({ length: 3000 }, () => newPublicJwk(alg))
  const next = (turn: number): Fuzzed => {
    const header = { typ: 'dpop+jwt', alg, jwk: keys[turn % keys.length] }
    const claims = { htm: 'POST', htu: `${issuer}/token`, iat: now(), jti: randomUUID() }
    const dpop = `${encode(header)}.${encode(claims)}.${randomBytes(signatureBytes[alg]).toString('base64url')}`
    return post('/token', 'grant_type=client_credentials', { ...asService, dpop })
  }
  return { name: `proofs by ever new keys, ${alg}`, next }
}

const jwts = (issuer: string): readonly Fuzzed[] => {
  const header = { alg: 'ES256', kid: 'es256', typ: 'JWT' }
  const claims = { iss: 'web', sub: 'web', aud: issuer, iat: now(), exp: now() + 60, jti: 'x' }
  const signature = 'A'.repeat(86)
  const tokens = [
    `${encode(header)}.${encode({ ...claims, more: 'x'.repeat(40_000) })}.${signature}`,
    `${encode(header)}.${encode(`{"a":${nested(20_000, '[', ']')}}`)}.${signature}`,
    `${encode(`{"alg":"ES256","a":${nested(20_000, '[', ']')}}`)}.${encode(claims)}.${signature}`,
    `${encode(header)}.${encode(`{${Array.from({ length: 4000 }, (_, at) => `"m${String(at)}":0`).join(',')}}`)}.${signature}`,
    `${encode({ ...header, typ: 'at+jwt' })}.${encode({ ...claims, iss: issuer, more: 'x'.repeat(40_000) })}.${signature}`,
    `${encode(header)}.${encode(claims)}.${filled(60_000, 'A')}`,
    filled(60_000, '.'),
    filled(60_000, 'e30.'),
  ]
  const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange'
  return tokens.flatMap((token) => [
    post(
      '/token',
      form({ grant_type: 'client_credentials', client_assertion_type: assertionType, client_assertion: token }),
    ),
    post('/token', form({ grant_type: exchange, subject_token: token, subject_token_type: 'x' }), {
      ...formType,
      authorization: basic(webClient),
    }),
    post('/introspect', form({ token }), asService),
    post('/revoke', form({ token }), asService),
    post('/userinfo', form({ access_token: token })),
    post('/token', form({ grant_type: 'refresh_token', client_id: 'app', refresh_token: token })),
    post('/token', form({ grant_type: 'authorization_code', client_id: 'app', code: token, code_verifier: token })),
  ])
}

const guesses = (seeds: FuzzSeeds): Hostility => {
  const page = seeds.bases.at(-1)!
  const next = (turn: number): Fuzzed => {
    if (turn % 4 === 0)
      return post('/token', form({ grant_type: 'refresh_token', client_id: 'app', refresh_token: randomUUID() }))
    if (turn % 4 === 1)
      return post('/token', 'grant_type=client_credentials', {
        ...formType,
        authorization: basic({ client_id: 'web', client_secret: randomUUID() }),
      })
    if (turn % 4 === 2) return post('/device_authorization', form({ client_id: 'tv' }))
    const password = turn % 8 === 3 ? 'wrong' : filled(50_000, 'wrong')
    return post(page.path, form({ ...page.form, username: `u${String(turn)}`, password }), {
      ...formType,
      ...page.headers,
    })
  }
  return { name: 'guesses at secrets and passwords', next }
}

/** All attacks except those that need their own connection. */
export const hostilities = (issuer: string, seeds: FuzzSeeds): readonly Hostility[] => [
  cycle('of any kind, most nearly right', fc.sample(fuzzedRequests(seeds), { numRuns: 3000, seed: 1 })),
  cycle('forms of 64 KiB', forms()),
  cycle('JSON of 32 KiB', jsons()),
  cycle('headers of 15 KiB', heads(seeds)),
  cycle('queries of 12 KiB', queries(seeds)),
  cycle('tokens and assertions of 60 KB', jwts(issuer)),
  ...(Object.keys(signatureBytes) as ProofAlg[]).map((alg) => proofs(issuer, alg)),
  guesses(seeds),
]
