import { createHash, randomUUID } from 'node:crypto'
import { collections } from '../../../core/collections/collections.js'
import type { AuthorizationCode, Grant } from '../../../core/oauth/grants/grant.js'
import { hashOpaqueToken, newOpaqueToken } from '../../../core/opaque-token.js'
import { newRefreshToken } from '../../../core/oauth/grants/refresh-token.js'
import type { StorageBackend } from '../../../core/storage/ports.js'
import { redirectUri, subject } from '../server/server.js'

export const verifier = 'a-code-verifier-of-43-characters-or-more~._'
export const challenge = createHash('sha256').update(verifier).digest('base64url')

/** Asks for a code of `web` that `verifier` redeems; `parameters` add to it, or replace. */
export const authorizeUrl = (issuer: string, parameters: Readonly<Record<string, string>> = {}): string => {
  const query = {
    client_id: 'web',
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...parameters,
  }
  return `${issuer}/authorize?${new URLSearchParams(query)}`
}

export interface Minting {
  readonly ttlSeconds?: number
  readonly now?: number
}

/** The collections as the core lays them out, all of them in one store. */
export const collectionsOf = (store: StorageBackend) =>
  collections({ records: store, ephemeral: store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() })

/** Puts codes and refresh families into a store, as `/authorize` and `/token` do. */
export const createMint = (store: StorageBackend) => {
  const { codes, families } = collectionsOf(store)

  const grant = (overrides: Partial<AuthorizationCode>, now: number): Grant => ({
    grantId: randomUUID(),
    clientId: 'web',
    subject,
    scope: ['openid', 'profile', 'email', 'offline_access', 'read'],
    resource: [],
    authentication: { auth_time: Math.floor(now / 1000), amr: ['pwd'], nonce: 'n-0S6', sid: randomUUID() },
    ...overrides,
  })

  return {
    /** Default: a code of `web`, with PKCE. `codeChallenge: ''` leaves the challenge out. */
    async code(overrides: Partial<AuthorizationCode> = {}, { ttlSeconds = 60, now = Date.now() }: Minting = {}) {
      const code = newOpaqueToken()
      const { codeChallenge = challenge, ...rest } = overrides
      const record: AuthorizationCode = {
        redirectUri,
        redirectUriSent: true,
        ...(codeChallenge === '' ? {} : { codeChallenge }),
        ...rest,
        ...grant(rest, now),
      }
      await codes.put(hashOpaqueToken(code), record, ttlSeconds)
      return { code, grantId: record.grantId }
    },
    /** Default: a family of `app`, which rotates. */
    async refreshToken(
      overrides: Partial<Grant> = {},
      {
        ttlSeconds = 1209600,
        now = Date.now(),
        absoluteSeconds = 7776000,
      }: Minting & { absoluteSeconds?: number } = {},
    ) {
      const { token, family, hash } = newRefreshToken()
      const record = grant({ clientId: 'app', ...overrides }, now)
      await families.start(
        family,
        { grant: record, current: hash, absoluteExpiry: now + absoluteSeconds * 1000 },
        ttlSeconds,
      )
      return { token, family, grantId: record.grantId }
    },
  }
}

export type Mint = ReturnType<typeof createMint>
