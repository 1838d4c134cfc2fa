import { isDeepStrictEqual } from 'node:util'
import { ConfigurationError, formatProblem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import { isoTime } from '../clock.js'
import { checkClient } from '../checks/check-configuration.js'
import { collections } from '../collections/collections.js'
import { parseClientMetadata, secretMembers, toMetadata } from '../oauth/client-metadata.js'
import type { JsonObject } from '../json.js'
import type { Client } from '../oauth/client.js'
import { hashOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import { needsSecret, printCredentials, readMetadata, type MetadataOptions } from './add-client.js'
import { findClient, isConfigured, type ClientOptions } from './clients.js'
import { changeStores, checkDeployment, readDeployment } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson } from './output.js'

/** `signet clients update`: the metadata that is given replaces what there is; `null` in the file removes a member. */
export const updateClient = async (clientId: string, options: MetadataOptions): Promise<void> => {
  const given = await readMetadata(options)
  if (Object.keys(given).length === 0) throw new CommandFailed('There is nothing to change: see --help.')
  if ('client_secret' in given) throw new CommandFailed('A secret is changed by: signet clients rotate-secret')
  if ((given['client_id'] ?? clientId) !== clientId) throw new CommandFailed('The id of a client cannot be changed.')
  const checked = await checkDeployment(options)
  let generated: string | undefined
  await changeClient(checked.config, clientId, 'update', async (before) => {
    // What follows from the grants follows from the new ones.
    const derived: JsonObject = 'grant_types' in given ? { response_types: null } : {}
    const merged = Object.entries({ ...toMetadata(before), ...derived, ...given })
    const metadata = Object.fromEntries(merged.filter(([, value]) => value !== null))
    const secret = needsSecret(metadata) ? newOpaqueToken() : undefined
    const { client, problems, warnings } = parseClientMetadata(
      { ...metadata, ...(secret !== undefined && { client_secret: secret }) },
      checked.config.scopes_supported,
      checked.config.security_profile,
    )
    if (client === undefined) throw new ConfigurationError(problems)
    const refused = await checkClient(checked, client)
    if (refused.length > 0) throw new ConfigurationError(refused)
    for (const warning of warnings) printError(`warning: ${formatProblem(warning)}`)
    const kept = { ...client, ...(before.registration && { registration: before.registration }) }
    if (secret === undefined) return kept
    if (before.client_secret_sha256 !== undefined) return { ...kept, ...secretsOf(before) }
    generated = secret
    return kept
  })
  if (options.json || generated !== undefined) return printCredentials(clientId, generated, options)
  print(`Updated ${clientId}`)
}

const secretsOf = (client: Client): Partial<Client> =>
  Object.fromEntries(secretMembers.flatMap((name) => (client[name] === undefined ? [] : [[name, client[name]]])))

export interface RotateOptions extends ClientOptions {
  /** Seconds for which the secret before stays valid. */
  readonly overlap?: number
}

/** `signet clients rotate-secret`: prints the new secret this once; the one before ends now, or after the overlap. */
export const rotateSecret = async (clientId: string, options: RotateOptions): Promise<void> => {
  const config = await readDeployment(options)
  const secret = newOpaqueToken()
  const { previous_client_secret_expires_at: until } = await changeClient(config, clientId, 'rotate_secret', (before) =>
    Promise.resolve(withSecret(before, secret, options.overlap)),
  )
  const old_secret_valid_until = until === undefined ? undefined : isoTime(until * 1000)
  if (options.json)
    return printJson({
      client_id: clientId,
      client_secret: secret,
      ...(old_secret_valid_until !== undefined && { old_secret_valid_until }),
    })
  printCredentials(clientId, secret, options)
  print(
    old_secret_valid_until === undefined
      ? 'The old secret is not valid any more.'
      : `The old secret is valid until ${old_secret_valid_until}.`,
  )
}

/** A time at which the secret before was to end still ends it. */
const withSecret = (client: Client, secret: string, overlap: number | undefined): Client => {
  const { client_secret_sha256: before, client_secret_expires_at: expiry = 0 } = client
  const { token_endpoint_auth_method: method } = client
  if (before === undefined)
    throw new CommandFailed(
      `This client has no secret${method === undefined ? '' : `: its method is ${method}`}. To give it one: signet clients update --auth-method client_secret_basic`,
    )
  const gone: readonly string[] = [...secretMembers, 'client_secret_expires_at']
  const kept = Object.fromEntries(Object.entries(client).filter(([name]) => !gone.includes(name)))
  const end = Math.floor(Date.now() / 1000) + (overlap ?? 0)
  return {
    ...(kept as unknown as Client),
    client_secret_sha256: hashOpaqueToken(secret),
    ...(overlap !== undefined && {
      previous_client_secret_sha256: before,
      previous_client_secret_expires_at: expiry === 0 ? end : Math.min(end, expiry),
    }),
  }
}

/** `signet clients disable` and `enable`. */
export const setClientDisabled = async (clientId: string, disabled: boolean, options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const action = disabled ? 'disable' : 'enable'
  await changeClient(config, clientId, action, (before) => Promise.resolve({ ...before, disabled }))
  if (options.json) return printJson({ client_id: clientId, state: `${action}d` })
  print(`${disabled ? 'Disabled' : 'Enabled'} ${clientId}`)
}

/**
 * Returns the client as it is now. Throws `CommandFailed` for one that the store does not have, or that somebody else has changed
 * meanwhile: it may manage its own registration.
 */
export const changeClient = async (
  config: Config,
  client_id: string,
  action: string,
  change: (before: Client) => Promise<Client>,
): Promise<Client> => {
  if (isConfigured(config, client_id))
    throw new CommandFailed('This client is in the configuration: change it there, and reload.')
  let changed: Client | undefined
  await changeStores(config, { action: `client.${action}`, client_id }, async (stores) => {
    const { clients } = collections(stores)
    const before = await findClient(clients, client_id)
    if (before === undefined) throw new CommandFailed('There is no such client in the store.')
    const after = await change(before)
    const isChanged = await clients.update(client_id, (current, expiresAt) =>
      isDeepStrictEqual(current, before) ? { result: true, write: { record: after, expiresAt } } : { result: false },
    )
    if (!isChanged) throw new CommandFailed('The client was changed by somebody else meanwhile. Try again.')
    changed = after
    return true
  })
  if (changed === undefined) throw new CommandFailed('The client was not changed.')
  return changed
}
