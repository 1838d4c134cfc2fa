import type { Clock } from '../../../core/clock.js'
import {
  newInitialAccessToken,
  type InitialAccessToken,
} from '../../../core/oauth/registration/initial-access-token.js'
import type { StorageBackend } from '../../../core/storage/ports.js'
import { fromAnotherAddress } from '../addresses.js'
import { read, type Answer } from '../server/token-server.js'

type Json = Record<string, unknown>

/** What a registration answers, as far as tests go on with it. */
export interface Registered {
  readonly client_id: string
  readonly client_secret?: string
  readonly registration_access_token: string
  readonly registration_client_uri: string
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** POST of JSON, or of text as it is. */
export const post = async (issuer: string, metadata: unknown, headers: Json = {}): Promise<Answer> =>
  read(
    await fetch(`${issuer}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...fromAnotherAddress(), ...(headers as Record<string, string>) },
      body: typeof metadata === 'string' ? metadata : JSON.stringify(metadata),
    }),
  )

/** GET, PUT or DELETE of a registration. */
export const manage = async (
  method: string,
  { registration_client_uri: uri, registration_access_token: token }: Registered,
  metadata?: unknown,
): Promise<Answer> =>
  read(
    await fetch(uri, {
      method,
      headers: { ...bearer(token), ...(metadata !== undefined && { 'content-type': 'application/json' }) },
      ...(metadata !== undefined && { body: JSON.stringify(metadata) }),
    }),
  )

/** Registers what has to be good. */
export const register = async (issuer: string, metadata: unknown, token?: string): Promise<Registered & Json> => {
  const answer = await post(issuer, metadata, token === undefined ? {} : bearer(token))
  if (answer.status !== 201) throw new Error(`not registered: ${String(answer.status)} ${answer.text}`)
  return answer.body as Registered & Json
}

/** As `signet registrations issue` stores it. */
export const issueToken = async (
  store: StorageBackend,
  clock: Clock,
  more: Partial<InitialAccessToken> & { readonly ttlSeconds?: number } = {},
): Promise<string> => {
  const { id, token, sha256 } = newInitialAccessToken()
  const { ttlSeconds = 3600, ...changed } = more
  const issuedAt = Math.floor(clock() / 1000)
  const record = { sha256, uses: 1, used: 0, issuedAt, expiresAt: issuedAt + ttlSeconds, ...changed }
  await store.records<InitialAccessToken>('initial_access_tokens').put(id, record, { ttlSeconds })
  return token
}
