import { collections } from '../collections/collections.js'
import { newInitialAccessToken, type InitialAccessToken } from '../oauth/registration/initial-access-token.js'
import { hashOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import { change, listAll, type Administration, type Deployment, type Operator, type Refusal } from './administration.js'
import { changeClient, type ClientRefusal } from './clients.js'

export interface IssueInput {
  readonly uses: number
  /** Seconds. */
  readonly expiresIn: number
  readonly policy?: string | undefined
  readonly note?: string | undefined
}

/** An initial access token (RFC 7591 §1.2). It is shown only once, because only its hash is stored. */
export interface IssuedInitialAccessToken {
  readonly id: string
  readonly token: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** Issues an initial access token. `off`: registration is not available here. Throws `Unavailable`. */
export const issueInitialAccessToken = async (
  administration: Administration,
  by: Operator,
  { uses, expiresIn, policy, note }: IssueInput,
): Promise<IssuedInitialAccessToken | Refusal<'off' | 'policy'>> => {
  const { config, stores, clock } = administration
  if (config.registration.mode === 'off') return { refused: 'off' }
  if (policy !== undefined && !Object.hasOwn(config.registration.policies, policy)) return { refused: 'policy' }
  const { id, token, sha256 } = newInitialAccessToken()
  const issuedAt = Math.floor(clock() / 1000)
  const record: InitialAccessToken = {
    sha256,
    uses,
    used: 0,
    issuedAt,
    expiresAt: issuedAt + expiresIn,
    ...(policy !== undefined && { policy }),
    ...(note !== undefined && { note }),
  }
  await change(administration, by, { action: 'registration.issue', initial_access_token: id }, () =>
    collections(stores).initialAccessTokens.put(id, record, { ttlSeconds: expiresIn, onlyIfAbsent: true }),
  )
  return { id, token, expiresAt: record.expiresAt }
}

/** Lists initial access tokens that have not expired, without their hashes. Throws `Unavailable`. */
export const listInitialAccessTokens = async ({
  stores,
}: Deployment): Promise<readonly (Omit<InitialAccessToken, 'sha256'> & { readonly id: string })[]> => {
  const found = await listAll(
    (after) => collections(stores).initialAccessTokens.list(after, 100),
    ({ id }) => id,
  )
  return found.map(({ id, record: { sha256: _hash, ...rest } }) => ({ id, ...rest }))
}

/** Ends an initial access token. The clients that were registered with it stay. Throws `Unavailable`. */
export const revokeInitialAccessToken = (
  administration: Administration,
  by: Operator,
  id: string,
): Promise<{ readonly id: string } | Refusal<'unknown'>> =>
  change(administration, by, { action: 'registration.revoke', initial_access_token: id }, async () =>
    (await collections(administration.stores).initialAccessTokens.remove(id)) ? { id } : { refused: 'unknown' },
  )

/** Replaces the registration access token (RFC 7592 §3) of a client that has lost it. Throws `Unavailable`. */
export const rotateRegistrationToken = async (
  administration: Administration,
  by: Operator,
  client_id: string,
): Promise<{ readonly token: string } | ClientRefusal | Refusal<'not_registered'>> => {
  const token = newOpaqueToken()
  const changed = await changeClient<Refusal<'not_registered'>>(
    administration,
    by,
    { action: 'rotate_registration_token', client_id },
    ({ registration, ...before }) =>
      Promise.resolve(
        registration === undefined
          ? { refused: 'not_registered' }
          : { ...before, registration: { ...registration, access_token_sha256: hashOpaqueToken(token) } },
      ),
  )
  return 'refused' in changed ? changed : { token }
}
