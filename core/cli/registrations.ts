import { isoTime } from '../clock.js'
import { collections } from '../collections/collections.js'
import { newInitialAccessToken, type InitialAccessToken } from '../oauth/registration/initial-access-token.js'
import { hashOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import { changeClient } from './change-client.js'
import type { ClientOptions } from './clients.js'
import { changeStores, listAll, readDeployment, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printFields, printJson } from './output.js'
import { printList } from './table.js'

export interface IssueOptions extends ClientOptions {
  readonly uses: number
  /** Seconds. */
  readonly expiresIn: number
  readonly policy?: string
  readonly note?: string
}

/** `signet registrations issue`: prints an initial access token this once; the store gets its hash. */
export const issueInitialAccessToken = async (options: IssueOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { uses, expiresIn, policy, note } = options
  if (config.registration.mode === 'off')
    throw new CommandFailed('Nobody can register: registration.mode of the configuration is off.')
  if (policy !== undefined && !Object.hasOwn(config.registration.policies, policy))
    throw new CommandFailed('registration.policies of the configuration has no policy of this name.')
  const { id, token, sha256 } = newInitialAccessToken()
  const issuedAt = Math.floor(Date.now() / 1000)
  const record: InitialAccessToken = {
    sha256,
    uses,
    used: 0,
    issuedAt,
    expiresAt: issuedAt + expiresIn,
    ...(policy !== undefined && { policy }),
    ...(note !== undefined && { note }),
  }
  await changeStores(config, { action: 'registration.issue', initial_access_token: id }, (stores) =>
    collections(stores).initialAccessTokens.put(id, record, { ttlSeconds: expiresIn, onlyIfAbsent: true }),
  )
  const expires_at = isoTime(record.expiresAt * 1000)
  if (options.json) return printJson({ id, initial_access_token: token, uses, expires_at, policy, note })
  printFields({
    id,
    initial_access_token: `${token}  (shown this once: only its hash is kept)`,
    uses: String(uses),
    expires: expires_at,
    ...(policy !== undefined && { policy }),
  })
}

/** `signet registrations list`. */
export const printInitialAccessTokens = async (options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) =>
    listAll(
      (after) => collections(stores).initialAccessTokens.list(after, 100),
      ({ id }) => id,
    ),
  )
  const rows = found.map(({ id, record: { sha256: _hash, issuedAt, expiresAt, ...rest } }) => ({
    id,
    ...rest,
    issued_at: isoTime(issuedAt * 1000),
    expires_at: isoTime(expiresAt * 1000),
  }))
  if (options.json) return printJson(rows)
  printList(
    'initial access tokens',
    ['ID', 'USED', 'EXPIRES', 'POLICY', 'NOTE'],
    rows.map(({ id, uses, used, expires_at, policy, note }) => [
      id,
      `${String(used)} of ${String(uses)}`,
      expires_at,
      policy ?? '',
      note ?? '',
    ]),
  )
}

/** `signet registrations revoke`: clients that were registered with the token stay. */
export const revokeInitialAccessToken = async (id: string, options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const change = { action: 'registration.revoke', initial_access_token: id }
  const revoked = await changeStores(config, change, (stores) => collections(stores).initialAccessTokens.remove(id))
  if (!revoked) throw new CommandFailed('There is no initial access token with this id.')
  if (options.json) return printJson({ id, state: 'revoked' })
  print(`Revoked ${id}`)
}

/** `signet registrations rotate-token`: for a client that has lost the token of its registration. */
export const rotateRegistrationToken = async (clientId: string, options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const token = newOpaqueToken()
  await changeClient(config, clientId, 'rotate_registration_token', (before) => {
    if (before.registration === undefined) throw new CommandFailed('This client did not register itself.')
    const registration = { ...before.registration, access_token_sha256: hashOpaqueToken(token) }
    return Promise.resolve({ ...before, registration })
  })
  if (options.json) return printJson({ client_id: clientId, registration_access_token: token })
  printFields({
    client_id: clientId,
    registration_access_token: `${token}  (shown this once: only its hash is kept)`,
  })
}
