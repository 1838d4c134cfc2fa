import { randomBytes } from 'node:crypto'
import type { RecordStore } from '../../storage/ports.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import { isSameText } from '../same-text.js'

/** The right to register a number of clients (RFC 7591 §3, "initial access token"), as it is stored. */
export interface InitialAccessToken {
  /** base64url SHA-256 of the secret part. The token itself is never kept. */
  readonly sha256: string
  /** How many clients may be registered with it, and how many have been. */
  readonly uses: number
  readonly used: number
  /** Seconds since the epoch. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** The name of the policy of its clients. Absent: `registration.policy` of the configuration. */
  readonly policy?: string
  /** A note for the operator. */
  readonly note?: string
}

const form = /^([0-9a-f]{16})\.([\w-]{43})$/

export interface NewInitialAccessToken {
  /** The name for the operator and the audit log; it is also the beginning of the token. */
  readonly id: string
  readonly token: string
  readonly sha256: string
}

export const newInitialAccessToken = (): NewInitialAccessToken => {
  const [id, secret] = [randomBytes(8).toString('hex'), newOpaqueToken()]
  return { id, token: `${id}.${secret}`, sha256: hashOpaqueToken(secret) }
}

export interface FoundInitialAccessToken {
  readonly id: string
  readonly record: InitialAccessToken
}

/** Initial access tokens at the registration endpoint. All methods throw `Unavailable`. */
export interface InitialAccessTokens {
  /** Returns what the token allows, or the constant reason why it allows nothing. It takes no use. */
  find(token: string): Promise<FoundInitialAccessToken | string>
  /**
   * Takes one use, as one atomic step over all processes. Resolves with false when none was left, or the token was
   * revoked.
   */
  redeem(id: string): Promise<boolean>
  /** Gives back a use whose registration failed. */
  giveBack(id: string): Promise<void>
}

const count = (store: RecordStore<InitialAccessToken>, id: string, step: 1 | -1): Promise<boolean> =>
  store.update(id, (current, expiresAt) => {
    if (current === undefined) return { result: false }
    const used = current.used + step
    if (used < 0 || used > current.uses) return { result: false }
    return { result: true, write: { record: { ...current, used }, expiresAt } }
  })

export const createInitialAccessTokens = (store: RecordStore<InitialAccessToken>): InitialAccessTokens => ({
  async find(token) {
    const [, id = '', secret] = form.exec(token) ?? []
    if (!isOpaqueToken(secret)) return 'malformed initial access token'
    const record = await store.find(id)
    if (record === undefined || !isSameText(record.sha256, hashOpaqueToken(secret)))
      return 'initial access token is unknown, expired or revoked'
    return record.used < record.uses ? { id, record } : 'initial access token is used up'
  },
  redeem: (id) => count(store, id, 1),
  async giveBack(id) {
    await count(store, id, -1)
  },
})
