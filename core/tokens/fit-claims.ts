import { signatureLength, type JwsAlg } from '../jose/jwk.js'
import type { KeyRing, SigningKey } from '../keys/ports.js'
import { OAuthError } from '../oauth/errors.js'
import { encodeHeader } from './compact-serializer.js'
import type { TokenProfile } from './profiles.js'

/** Bytes of a value as JSON. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

const base64urlLength = (bytes: number): number => Math.ceil((bytes * 4) / 3)

/** Characters of the whole token, signed by this key, when what is signed has so many (RFC 7515 §7.1). */
export const tokenLength = (inputLength: number, { alg, signer }: SigningKey): number =>
  inputLength + 1 + base64urlLength(signatureLength(alg, signer.publicJwk))

/** What nobody could read back is not signed. */
export const tooLong = ({ maxLength }: TokenProfile): OAuthError =>
  new OAuthError('invalid_request', 'The token would be too long.', {
    reason: `the claims make the token longer than ${maxLength} characters`,
  })

/** Bytes of claims that a token of this profile has room for, signed by the first key that may. Throws `Unavailable`. */
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
 * The names in `voluntary` that have to be left out so that a token with `claims` is not too long: the largest first, and no
 * more than it takes (OIDC Core §5.5: what is not essential to the token may be missing). `voluntary` has under each name what of
 * `claims` goes with it. Throws `invalid_request` when that is not enough, `Unavailable`.
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
