import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ConfigurationError, describeReadFault, formatProblem } from '../../config/problems.js'
import { checkClient } from '../checks/check-configuration.js'
import { collections } from '../collections/collections.js'
import { openAccountStore } from '../interaction/accounts.js'
import { parseClientMetadata } from '../oauth/client-metadata.js'
import type { JsonObject } from '../json.js'
import { newOpaqueToken } from '../opaque-token.js'
import { isConfigured, type ClientOptions } from './clients.js'
import { changeStores, checkDeployment } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson } from './output.js'

export interface AddClientOptions extends MetadataOptions {
  readonly clientId?: string
}

/** What `add` and `update` take as metadata. */
export interface MetadataOptions extends ClientOptions {
  readonly name?: string
  readonly applicationType?: string
  readonly redirectUri?: readonly string[]
  readonly postLogoutRedirectUri?: readonly string[]
  readonly backchannelLogoutUri?: string
  readonly grantType?: readonly string[]
  readonly scope?: string
  readonly authMethod?: string
  readonly consent?: string
  readonly audience?: readonly string[]
  readonly introspectionAudience?: readonly string[]
  readonly file?: string
}

/** `signet clients add`: prints a generated secret this once; the store gets its hash. */
export const addClient = async (options: AddClientOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const { config } = checked
  const written = await readMetadata(options)
  const clientId = options.clientId ?? written['client_id'] ?? randomUUID()
  const generated = needsSecret(written) ? newOpaqueToken() : undefined
  const { client, problems, warnings } = parseClientMetadata(
    { ...written, client_id: clientId, ...(generated !== undefined && { client_secret: generated }) },
    config.scopes_supported,
    config.security_profile,
  )
  if (client === undefined) throw new ConfigurationError(problems)
  const refused = await checkClient(checked, client)
  if (refused.length > 0) throw new ConfigurationError(refused)
  const { client_id } = client
  if (isConfigured(config, client_id)) throw new CommandFailed('The configuration has a client with this id.')
  const added = await changeStores(config, { action: 'client.add', client_id }, async (stores) => {
    if ((await openAccountStore(stores.records).subjects.find(client_id)) !== undefined)
      throw new CommandFailed(
        'This id is the subject of a person: the tokens of both would have it as sub (RFC 9700 section 4.15).',
      )
    return collections(stores).clients.put(client_id, client, { onlyIfAbsent: true })
  })
  if (!added) throw new CommandFailed('There is a client with this id in the store.')
  for (const warning of warnings) printError(`warning: ${formatProblem(warning)}`)
  printCredentials(client_id, generated, options)
}

/** The id of a client and the secret that was generated for it: nothing shows it again. */
export const printCredentials = (client_id: string, generated: string | undefined, { json }: ClientOptions): void => {
  if (json) return printJson({ client_id, ...(generated !== undefined && { client_secret: generated }) })
  print(`client_id      ${client_id}`)
  if (generated !== undefined) print(`client_secret  ${generated}  (shown this once: only its hash is kept)`)
}

/** The metadata of the file, under that of the options. Throws `CommandFailed`. */
export const readMetadata = async (options: MetadataOptions): Promise<JsonObject> => ({
  ...(options.file !== undefined && (await readMetadataFile(options.file))),
  ...fromFlags(options),
})

const readMetadataFile = async (file: string): Promise<JsonObject> => {
  let value: unknown
  try {
    value = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'is not JSON' : describeReadFault(error)
    throw new CommandFailed(`${file} ${reason}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CommandFailed(`${file} does not contain a JSON object`)
  }
  return value as JsonObject
}

const fromFlags = (options: MetadataOptions): JsonObject => {
  const flags = {
    client_name: options.name,
    application_type: options.applicationType,
    redirect_uris: options.redirectUri,
    post_logout_redirect_uris: options.postLogoutRedirectUri,
    backchannel_logout_uri: options.backchannelLogoutUri,
    grant_types: options.grantType,
    scope: options.scope,
    token_endpoint_auth_method: options.authMethod,
    consent: options.consent,
    allowed_audiences: options.audience,
    introspection_audiences: options.introspectionAudience,
  }
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined))
}

/** Without a method the client authenticates with a secret. One that the file brings stays. */
export const needsSecret = (metadata: JsonObject): boolean =>
  !('client_secret' in metadata) &&
  ['client_secret_basic', 'client_secret_post', undefined].includes(
    metadata['token_endpoint_auth_method'] as string | undefined,
  )
