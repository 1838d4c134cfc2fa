import { hash } from 'node:crypto'
import { frozen, type JsonObject } from '../json.js'
import { copyOf } from '../jose/compact-jws.js'
import type { PublishedKey } from '../keys/ports.js'
import { isInTime, verifyOwnToken, type OwnTokenVerification } from './verify-own-token.js'
import { accessOf, type Access } from '../oauth/grants/access-end.js'
import { signInOf } from '../oauth/subjects/subject-end.js'
import type { Subjects } from '../oauth/subjects/subjects.js'
import type { Began } from '../storage/ports.js'
import { RecentMap } from '../recent-map.js'
import { revealPeople } from './people-in-claims.js'
import { accessTokenProfile } from './profiles.js'
import type { SignedToken } from './sign-token.js'

/** An access token of ours, whole and in time or within the tolerance. Whether it was revoked is not asked here. */
export interface IdentifiedAccessToken {
  readonly kind: 'access_token'
  /** As the token has them. Frozen, as `revealed`. */
  readonly claims: JsonObject
  /** With local subjects: for nobody but this server. */
  readonly revealed: JsonObject
  readonly clientId: string
  /** The local one. */
  readonly subject: string
  readonly jti: string
  /** Ending it ends the token, too. */
  readonly grantId: string
  /** The sign-in that it comes from; undefined where no person stands behind it. Ending that ends the token, too. */
  readonly signIn: Began | undefined
  /** What its client may do for the person. Withdrawing that ends the token, too. */
  readonly access: Access | undefined
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

export interface AccessTokenVerifier {
  /** What an access token of this issuer says; undefined for whatever is none. Throws `Unavailable`. */
  identify(text: string): Promise<IdentifiedAccessToken | undefined>
  /** Called for each access token that this process signs. */
  signed(made: SignedToken): void
}

/** A signature known to be good, under the digest of what it signs. */
interface Known {
  readonly signature: string
  readonly key: PublishedKey
}

interface Verified extends Known {
  readonly token: IdentifiedAccessToken
}

const maxVerified = 8192
/** 230 bytes each: tokens come back first soon after they were issued, to userinfo or from a resource server. */
const maxSigned = 32_768

/**
 * Verifies the signature of an access token once at most, and of those that this process signed itself, never: P-256 costs
 * more than all the rest of an introspection or a userinfo answer. That a signature is good stays true for as long as its key
 * is published; whether it is, and the times of the token, are asked every time. No token lies in memory: they are known by digests.
 */
export const createAccessTokenVerifier = (
  verification: OwnTokenVerification,
  subjects: Subjects,
): AccessTokenVerifier => {
  const { ring } = verification
  const verified = new RecentMap<string, Verified>(maxVerified)
  const signed = new RecentMap<string, Known>(maxSigned)

  const isGood = <K extends Known>(known: K | undefined, signature: string): known is K =>
    known !== undefined && known.signature === signature && known.key === ring.publishedKey(known.key.kid)

  return {
    async identify(text) {
      const dot = text.lastIndexOf('.')
      const digest = hash('sha256', text.slice(0, Math.max(dot, 0)), 'base64url')
      const signature = text.slice(dot + 1)
      const known = verified.get(digest)
      if (isGood(known, signature)) return isInTime(known.token.claims, verification) ? known.token : undefined
      const signatureIsKnown = isGood(signed.get(digest), signature)
      const own = await verifyOwnToken(text, { ...verification, ...accessTokenProfile, signatureIsKnown })
      if (own === undefined) return undefined
      const token = readAccessToken(own.claims, subjects)
      if (token === undefined) return undefined
      verified.set(digest, { token, signature: copyOf(signature), key: own.publishedKey })
      return token
    },

    signed({ token, publishedKey, record }) {
      signed.set(record.digest, { signature: copyOf(token.slice(token.lastIndexOf('.') + 1)), key: publishedKey })
    },
  }
}

const readAccessToken = (claims: JsonObject, subjects: Subjects): IdentifiedAccessToken | undefined => {
  const { jti, client_id: clientId, exp, auth_time } = claims
  if (typeof jti !== 'string' || typeof clientId !== 'string') return undefined
  const revealed = revealPeople(claims, clientId, subjects)
  const subject = revealed?.['sub']
  if (revealed === undefined || typeof subject !== 'string') return undefined
  const [grantId = jti] = jti.split('.')
  const signIn = signInOf(subject, auth_time)
  return {
    kind: 'access_token',
    claims: frozen(claims),
    revealed: frozen(revealed),
    clientId,
    subject,
    jti,
    grantId,
    signIn,
    access: accessOf(signIn, subject, clientId, grantId),
    expiresAt: Number(exp),
  }
}
