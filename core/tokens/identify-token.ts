import type { Grant } from '../oauth/grants/grant.js'
import { readRefreshToken } from '../oauth/grants/refresh-token.js'
import type { RefreshFamilyStore } from '../storage/ports.js'
import type { AccessTokenVerifier, IdentifiedAccessToken } from './access-token-verifier.js'

/** A refresh token that belongs to a known token family. */
export interface IdentifiedRefreshToken {
  readonly kind: 'refresh_token'
  readonly family: string
  readonly grant: Grant
  /** This is false for a token that was replaced, and for one that was never issued. */
  readonly current: boolean
}

export type IdentifiedToken = IdentifiedAccessToken | IdentifiedRefreshToken

export interface IdentifyOptions {
  readonly accessTokenVerifier: Pick<AccessTokenVerifier, 'identify'>
  readonly families: RefreshFamilyStore<Grant>
}

/**
 * Identifies a token by the token itself, because a `token_type_hint` could only be wrong (RFC 7009 §2.1, RFC 7662
 * §2.1). Returns undefined for anything that is not an access or refresh token of this issuer. Throws `Unavailable`.
 */
export const createIdentifyToken =
  ({ accessTokenVerifier, families }: IdentifyOptions) =>
  async (text: string): Promise<IdentifiedToken | undefined> => {
    const read = readRefreshToken(text)
    if (read === undefined) return accessTokenVerifier.identify(text)
    const record = await families.find(read.family)
    if (record === undefined) return undefined
    return { kind: 'refresh_token', family: read.family, grant: record.grant, current: record.current === read.hash }
  }

export type IdentifyToken = ReturnType<typeof createIdentifyToken>
