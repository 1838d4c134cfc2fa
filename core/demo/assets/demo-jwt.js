const hashes = { 256: 'SHA-256', 384: 'SHA-384', 512: 'SHA-512' }

const rsa = (size) => {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: hashes[size] }
  return { hash: hashes[size], imported: algorithm, verified: algorithm }
}

const ec = (size) => ({
  hash: hashes[size],
  imported: { name: 'ECDSA', namedCurve: `P-${size}` },
  verified: { name: 'ECDSA', hash: hashes[size] },
})

/** The algorithms of RFC 7518 §3.1 and RFC 8037 §3.1 as WebCrypto names them; `hash` is that of `at_hash`. */
const algorithms = new Map([
  ['RS256', rsa(256)],
  ['RS384', rsa(384)],
  ['RS512', rsa(512)],
  [
    'PS256',
    {
      hash: 'SHA-256',
      imported: { name: 'RSA-PSS', hash: 'SHA-256' },
      verified: { name: 'RSA-PSS', saltLength: 32 },
    },
  ],
  ['ES256', ec(256)],
  ['ES384', ec(384)],
  ['EdDSA', { hash: 'SHA-512', imported: { name: 'Ed25519' }, verified: { name: 'Ed25519' } }],
])

export const toBase64Url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const fromBase64Url = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0))

const parse = (segment) => JSON.parse(new TextDecoder().decode(fromBase64Url(segment)))

/** Returns the header and the claims of a compact JWT. Throws when the text is not one. */
export const decodeJwt = (jwt) => {
  const segments = jwt.split('.')
  if (segments.length !== 3) throw new Error('This is not a JWT.')
  return { segments, header: parse(segments[0]), claims: parse(segments[1]) }
}

/**
 * Verifies with the key of the set that the header names, and returns whether the signature is valid. Throws when the
 * set has no such key.
 */
export const verifyJwt = async (jwt, keySet) => {
  const { header, segments } = decodeJwt(jwt)
  const algorithm = algorithms.get(header.alg)
  if (!algorithm) throw new Error(`The algorithm ${header.alg} was not expected here.`)
  const jwk = keySet.keys.find((key) => key.kid === header.kid)
  if (!jwk) throw new Error('The key set has no key with that kid.')
  const { kty, crv, x, y, n, e } = jwk
  const bare = JSON.parse(JSON.stringify({ kty, crv, x, y, n, e }))
  const key = await crypto.subtle.importKey('jwk', bare, algorithm.imported, false, ['verify'])
  const signed = new TextEncoder().encode(`${segments[0]}.${segments[1]}`)
  return await crypto.subtle.verify(algorithm.verified, key, fromBase64Url(segments[2]), signed)
}

/** Computes the `at_hash` of an access token under the ID token's algorithm (OIDC Core §3.1.3.6). */
export const accessTokenHash = async (accessToken, alg) => {
  const digest = await crypto.subtle.digest(algorithms.get(alg).hash, new TextEncoder().encode(accessToken))
  return toBase64Url(digest.slice(0, digest.byteLength / 2))
}
