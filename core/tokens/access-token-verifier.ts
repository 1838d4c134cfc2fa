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

/**
 * An access token of this issuer that is well formed and valid now, within the tolerance. It may have been revoked:
 * that is not checked here.
 */
export interface IdentifiedAccessToken {
  readonly kind: 'access_token'
  /** The claims as they are in the token, frozen like `revealed`. */
  readonly claims: JsonObject
  /** The claims with local subjects, which only this server may see. */
  readonly revealed: JsonObject
  readonly clientId: string
  /** The local subject. */
  readonly subject: string
  readonly jti: string
  /** The grant of the token. Ending the grant ends the token too. */
  readonly grantId: string
  /**
   * The sign-in that the token comes from, or undefined where no person is involved. Ending the sign-in ends the
   * token too.
   */
  readonly signIn: Began | undefined
  /** The access that the person has given the client. Withdrawing it ends the token too. */
  readonly access: Access | undefined
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

export interface AccessTokenVerifier {
  /** Returns what an access token of this issuer says, and undefined for any other text. Throws `Unavailable`. */
  identify(text: string): Promise<IdentifiedAccessToken | undefined>
  /** This is called for each access token that this process signs. */
  signed(made: SignedToken): void
}

/** A signature that is known to be good, stored under the digest of the text it signs. */
interface Known {
  readonly signature: string
  readonly key: PublishedKey
}

interface Verified extends Known {
  readonly token: IdentifiedAccessToken
}

const maxVerified = 8192
/**
 * Each entry takes 230 bytes. Tokens first come back soon after they were issued, to userinfo or from a resource
 * server.
 */
const maxSigned = 32_768

/**
 * Verifies the signature of an access token at most once, and never for tokens that this process signed itself: P-256
 * costs more than the rest of an introspection or userinfo answer. A good signature stays good as long as its key is
 * published; the key and the times of the token are checked on every call. No token is kept in memory: the cache
 * holds digests only.
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
