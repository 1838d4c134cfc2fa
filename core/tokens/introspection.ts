import { hash } from 'node:crypto'
import type { JsonObject } from '../json.js'
import type { PublishedKey } from '../keys/ports.js'
import { isInTime, verifyOwnToken, type OwnTokenExpectation } from '../keys/verify-own-token.js'
import type { Grant } from '../oauth/grant.js'
import { readRefreshToken } from '../oauth/refresh-token.js'
import type { RefreshFamilyStore } from '../storage/ports.js'
import { accessTokenProfile } from './profiles.js'

/** An access token of ours, whole and in time or within the tolerance. Whether it was revoked is not asked here. */
export interface IdentifiedAccessToken {
  readonly kind: 'access_token'
  readonly claims: JsonObject
  readonly clientId: string
  readonly subject: string
  readonly jti: string
  /** Ending it ends the token, too. */
  readonly grantId: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** A text that names a refresh family. */
export interface IdentifiedRefreshToken {
  readonly kind: 'refresh_token'
  readonly family: string
  readonly grant: Grant
  /** False for a token that was replaced, and for one that never was. */
  readonly current: boolean
}

export type IdentifiedToken = IdentifiedAccessToken | IdentifiedRefreshToken

export interface IdentifyOptions {
  readonly identifyAccessToken: IdentifyAccessToken
  readonly families: RefreshFamilyStore<Grant>
}

interface Verified {
  readonly token: IdentifiedAccessToken
  readonly kid: string
  readonly key: PublishedKey | undefined
}

/** Verifying P-256 is most of an introspection and of a userinfo answer, and the same token comes again and again. */
const maxRemembered = 8192

/**
 * Verifies access tokens of this issuer, each once: that its bytes are whole stays true for as long as their key is
 * published and they are in time, which is asked every time. Undefined for whatever is none. Throws `Unavailable`.
 */
export const createIdentifyAccessToken = (verification: Omit<OwnTokenExpectation, 'typ' | 'expired'>) => {
  const { ring } = verification
  /** By hash, so that no token lies in memory; the oldest goes first. */
  const remembered = new Map<string, Verified>()

  const recall = (digest: string): IdentifiedAccessToken | undefined => {
    const known = remembered.get(digest)
    if (known === undefined) return undefined
    if (known.key === ring.publishedKey(known.kid) && isInTime(known.token.claims, verification)) return known.token
    remembered.delete(digest)
    return undefined
  }

  return async (text: string): Promise<IdentifiedAccessToken | undefined> => {
    const digest = hash('sha256', text, 'base64url')
    const recalled = recall(digest)
    if (recalled !== undefined) return recalled
    const own = await verifyOwnToken(text, { ...verification, typ: accessTokenProfile.typ })
    if (own === undefined) return undefined
    const { kid } = own.header
    const token = readAccessToken(own.claims)
    if (token === undefined) return undefined
    remembered.set(digest, { token, kid, key: ring.publishedKey(kid) })
    if (remembered.size > maxRemembered) remembered.delete(remembered.keys().next().value as string)
    return token
  }
}

export type IdentifyAccessToken = ReturnType<typeof createIdentifyAccessToken>

/**
 * Finds what a token is by the token itself: a `token_type_hint` could only be wrong (RFC 7009 §2.1, RFC 7662 §2.1).
 * Undefined for whatever is no access or refresh token of this issuer. Throws `Unavailable`.
 */
export const createIdentifyToken =
  ({ identifyAccessToken, families }: IdentifyOptions) =>
  async (text: string): Promise<IdentifiedToken | undefined> => {
    const read = readRefreshToken(text)
    if (read === undefined) return identifyAccessToken(text)
    const record = await families.find(read.family)
    if (record === undefined) return undefined
    return { kind: 'refresh_token', family: read.family, grant: record.grant, current: record.current === read.hash }
  }

export type IdentifyToken = ReturnType<typeof createIdentifyToken>

const readAccessToken = (claims: JsonObject): IdentifiedAccessToken | undefined => {
  const { sub: subject, jti, client_id: clientId, exp } = claims
  if (typeof subject !== 'string' || typeof jti !== 'string' || typeof clientId !== 'string') return undefined
  const [grantId = jti] = jti.split('.')
  return { kind: 'access_token', claims, clientId, subject, jti, grantId, expiresAt: Number(exp) }
}
