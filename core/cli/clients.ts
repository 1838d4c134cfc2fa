import { isoTime } from '../clock.js'
import { isRefusal } from '../administration/administration.js'
import {
  listClients,
  removeClient,
  removeUnusedClients,
  setClientDisabled,
  showClient,
  usesOf,
  type ClientRefusal,
} from '../administration/clients.js'
import type { ClientUse } from '../oauth/clients/client-uses.js'
import { effectiveSettings } from '../administration/effective-client.js'
import { rotateClientSecret } from '../administration/client-metadata.js'
import { administer, readDeployment, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson, printYaml } from './output.js'
import { printList, type Cell } from './table.js'

export interface ClientOptions extends DeploymentOptions {
  readonly json?: true
}

const refusals: Readonly<Record<ClientRefusal['refused'], string>> = {
  configured: 'This client is in the configuration: change it there, and reload.',
  unknown: 'There is no such client in the store.',
  changed_meanwhile: 'The client was changed by somebody else meanwhile. Try again.',
}

/** Says why a client was not changed. */
export const clientNotChanged = ({ refused }: ClientRefusal): CommandFailed => new CommandFailed(refusals[refused])

/** Implements `signet clients list`. */
export const printClients = async (options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { rows, uses } = await withStores(config, async (stores) => {
    const found = await listClients({ config, stores })
    return {
      rows: found,
      uses: await usesOf(
        { stores },
        found.map(({ client_id }) => client_id),
      ),
    }
  })
  if (options.json) return printJson(rows.map((row) => ({ ...row, ...describeUse(uses.get(row.client_id)) })))
  printList(
    'clients',
    ['CLIENT_ID', 'NAME', 'SOURCE', 'STATE', 'AUTHENTICATION', 'GRANTS', 'LAST USED'],
    rows.map((row) => [
      row.client_id,
      row.client_name ?? '',
      row.source,
      describeState(row),
      row.token_endpoint_auth_method ?? 'client_secret',
      row.grant_types.join(' '),
      uses.get(row.client_id)?.last ?? '',
    ]),
  )
}

const describeUse = (use: ClientUse | undefined) => use && { last_used: use.last, algorithms: use.algorithms }

/** Describes the state of an account or a client. */
export const describeState = ({ disabled }: { readonly disabled?: boolean }): Cell =>
  disabled ? { text: 'disabled', tone: 'red' } : 'active'

export interface ShowOptions extends ClientOptions {
  readonly effective?: true
}

/** Implements `signet clients show`. */
export const printClient = async (clientId: string, options: ShowOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { client, use } = await withStores(config, async (stores) => ({
    client: await showClient({ config, stores }, clientId),
    use: (await usesOf({ stores }, [clientId])).get(clientId),
  }))
  if (client === undefined) throw new CommandFailed('There is no such client.')
  const effective = options.effective && { effective: effectiveSettings(config, client) }
  const shown = { ...client, ...describeUse(use), ...effective }
  if (options.json) printJson(shown)
  else printYaml(shown)
}

export interface RemoveOptions extends ClientOptions {
  readonly unused?: true
  readonly address?: string
}

/** Implements `signet clients remove`. */
export const removeClients = async (clientId: string | undefined, options: RemoveOptions): Promise<void> => {
  const { unused, address } = options
  if (clientId !== undefined && unused === undefined && address === undefined) return removeOne(clientId, options)
  if (clientId !== undefined || unused === undefined)
    throw new CommandFailed('Name either one client or --unused, with or without --address.')
  const config = await readDeployment(options)
  const result = await administer(config, (administration, by) =>
    removeUnusedClients(administration, by, { ...(address !== undefined && { address }) }),
  )
  if (isRefusal(result)) throw new CommandFailed('--address must be an IP address.')
  const { removed } = result
  if (options.json) printJson({ removed })
  else print(`Removed ${String(removed)} ${removed === 1 ? 'client' : 'clients'}`)
}

const removeOne = async (clientId: string, options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const result = await administer(config, (administration, by) =>
    removeClient(administration, by, { client_id: clientId }),
  )
  if (!isRefusal(result))
    return options.json ? printJson({ client_id: clientId, state: 'removed' }) : print(`Removed ${clientId}`)
  throw new CommandFailed(
    result.refused === 'configured' ? 'This client is in the configuration: remove it there.' : refusals.unknown,
  )
}

export interface RotateOptions extends ClientOptions {
  /** The number of seconds for which the previous secret stays valid. */
  readonly overlap?: number
}

/** Implements `signet clients rotate-secret`, which prints the new secret only this once. */
export const rotateSecret = async (clientId: string, options: RotateOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { overlap } = options
  const result = await administer(config, (administration, by) =>
    rotateClientSecret(administration, by, { client_id: clientId, overlap }),
  )
  if (isRefusal(result)) throw result.refused === 'no_secret' ? noSecret(result.reason) : clientNotChanged(result)
  const { client_secret, previous_client_secret_expires_at: until } = result
  const old_secret_valid_until = until === undefined ? undefined : isoTime(until * 1000)
  if (options.json)
    return printJson({
      client_id: clientId,
      client_secret,
      ...(old_secret_valid_until !== undefined && { old_secret_valid_until }),
    })
  printCredentials(clientId, client_secret, options)
  print(
    old_secret_valid_until === undefined
      ? 'The old secret is no longer valid.'
      : `The old secret is valid until ${old_secret_valid_until}.`,
  )
}

const noSecret = (method: string | undefined): CommandFailed =>
  new CommandFailed(
    `This client has no secret${method === undefined ? '' : `: its method is ${method}`}. To give it one: signet clients update --auth-method client_secret_basic`,
  )

/** Implements `signet clients disable` and `enable`. */
export const setDisabled = async (clientId: string, disabled: boolean, options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const result = await administer(config, (administration, by) =>
    setClientDisabled(administration, by, { client_id: clientId, disabled }),
  )
  if (isRefusal(result)) throw clientNotChanged(result)
  if (options.json) return printJson({ client_id: clientId, state: disabled ? 'disabled' : 'enabled' })
  print(`${disabled ? 'Disabled' : 'Enabled'} ${clientId}`)
}

/** Prints the id of a client and the secret that was generated for it. The secret cannot be shown again. */
export const printCredentials = (client_id: string, generated: string | undefined, { json }: ClientOptions): void => {
  if (json) return printJson({ client_id, ...(generated !== undefined && { client_secret: generated }) })
  print(`client_id      ${client_id}`)
  if (generated !== undefined) print(`client_secret  ${generated}  (shown this once: only its hash is kept)`)
}
