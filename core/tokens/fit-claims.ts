import { signatureLength, type JwsAlg } from '../jose/jwk.js'
import type { KeyRing, SigningKey } from '../keys/ports.js'
import { OAuthError } from '../oauth/errors.js'
import { encodeHeader } from './compact-serializer.js'
import type { TokenProfile } from './profiles.js'

/** Returns the size of a value as JSON, in bytes. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

const base64urlLength = (bytes: number): number => Math.ceil((bytes * 4) / 3)

/**
 * Returns the length in characters of the whole token, signed by this key, for a signing input of this length (RFC
 * 7515 §7.1).
 */
export const tokenLength = (inputLength: number, { alg, signer }: SigningKey): number =>
  inputLength + 1 + base64urlLength(signatureLength(alg, signer.publicJwk))

/** A token that nothing could read back is not signed. */
export const tooLong = ({ maxLength }: TokenProfile): OAuthError =>
  new OAuthError('invalid_request', 'The token would be too long.', {
    reason: `the claims make the token longer than ${maxLength} characters`,
  })

/**
 * Returns how many bytes of claims fit in a token of this profile when the first eligible key signs it. Throws
 * `Unavailable`.
 */
const roomFor = (ring: Pick<KeyRing, 'signingKey'>, profile: TokenProfile, alg: JwsAlg): number => {
  const key = ring.signingKey(profile.purpose, alg)
  const header = encodeHeader({ kid: key.kid, alg, typ: profile.typ }).length
  const longest = Math.min(
    profile.maxLength - tokenLength(header, key),
    (key.signer.messageBytes?.max ?? Infinity) - header,
  )
  return Math.floor((longest * 3) / 4)
}

/**
 * Returns the names in `voluntary` that must be left out so that a token with `claims` is not too long. It drops the
 * largest first and no more than necessary (OIDC Core §5.5 allows voluntary claims to be missing). `voluntary` maps
 * each name to the part of `claims` that goes with it. Throws `invalid_request` when that is not enough, and
 * `Unavailable`.
 */
export const findTooLarge = (
  ring: Pick<KeyRing, 'signingKey'>,
  profile: TokenProfile,
  alg: JwsAlg,
  claims: object,
  voluntary: Readonly<Record<string, unknown>>,
): readonly string[] => {
  let over = bytesOf(claims) - roomFor(ring, profile, alg)
  if (over <= 0) return []
  const sizes = Object.entries(voluntary).map(([name, value]) => ({ name, bytes: bytesOf(value) }))
  const dropped: string[] = []
  for (const { name, bytes } of sizes.toSorted((a, b) => b.bytes - a.bytes)) {
    if (over <= 0) break
    dropped.push(name)
    over -= bytes
  }
  if (over > 0) throw tooLong(profile)
  return dropped
}
