import { isoTime } from '../clock.js'
import { isRefusal } from '../administration/administration.js'
import {
  issueInitialAccessToken,
  listInitialAccessTokens,
  revokeInitialAccessToken,
  rotateRegistrationToken,
} from '../administration/registrations.js'
import { clientNotChanged, type ClientOptions } from './clients.js'
import { administer, readDeployment, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printFields, printJson } from './output.js'
import { printList } from './table.js'

export interface IssueOptions extends ClientOptions {
  readonly uses: number
  /** This is in seconds. */
  readonly expiresIn: number
  readonly policy?: string
  readonly note?: string
}

const notIssued = {
  off: 'Nobody can register: registration.mode of the configuration is off.',
  policy: 'registration.policies of the configuration has no policy of this name.',
} as const

/**
 * Implements `signet registrations issue`. The initial access token is printed only this once; the store gets its
 * hash.
 */
export const printNewInitialAccessToken = async (options: IssueOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { uses, policy, note } = options
  const result = await administer(config, (administration, by) => issueInitialAccessToken(administration, by, options))
  if (isRefusal(result)) throw new CommandFailed(notIssued[result.refused])
  const { id, token } = result
  const expires_at = isoTime(result.expiresAt * 1000)
  if (options.json) return printJson({ id, initial_access_token: token, uses, expires_at, policy, note })
  printFields({
    id,
    initial_access_token: `${token}  (shown this once: only its hash is kept)`,
    uses: String(uses),
    expires: expires_at,
    ...(policy !== undefined && { policy }),
  })
}

/** Implements `signet registrations list`. */
export const printInitialAccessTokens = async (options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) => listInitialAccessTokens({ config, stores }))
  const rows = found.map(({ id, issuedAt, expiresAt, ...rest }) => ({
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

/** Implements `signet registrations revoke`. Clients that were registered with the token stay. */
export const revokeToken = async (id: string, options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const result = await administer(config, (administration, by) => revokeInitialAccessToken(administration, by, id))
  if (isRefusal(result)) throw new CommandFailed('There is no initial access token with this id.')
  if (options.json) return printJson({ id, state: 'revoked' })
  print(`Revoked ${id}`)
}

/** Implements `signet registrations rotate-token`, for a client that has lost its registration access token. */
export const rotateTokenOf = async (clientId: string, options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const result = await administer(config, (administration, by) => rotateRegistrationToken(administration, by, clientId))
  if (isRefusal(result))
    throw result.refused === 'not_registered'
      ? new CommandFailed('This client did not register itself.')
      : clientNotChanged(result)
  const { token } = result
  if (options.json) return printJson({ client_id: clientId, registration_access_token: token })
  printFields({
    client_id: clientId,
    registration_access_token: `${token}  (shown this once: only its hash is kept)`,
  })
}
