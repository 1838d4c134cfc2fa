import { readFile } from 'node:fs/promises'
import { ConfigurationError, describeReadFault, formatProblem } from '../../config/problems.js'
import { isRefusal } from '../administration/administration.js'
import { addClient, updateClient, type InvalidMetadata } from '../administration/client-metadata.js'
import type { JsonObject } from '../json.js'
import { clientNotChanged, printCredentials, type ClientOptions } from './clients.js'
import { administer, checkDeployment } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError } from './output.js'

export interface AddClientOptions extends MetadataOptions {
  readonly clientId?: string
}

/** Metadata options of `add` and `update`. */
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

const invalid = ({ problems }: InvalidMetadata): ConfigurationError => new ConfigurationError(problems)

const notAdded = {
  configured: 'The configuration has a client with this id.',
  exists: 'There is a client with this id in the store.',
  subject: 'This id is the subject of a person: the tokens of both would have it as sub (RFC 9700 section 4.15).',
} as const

/** Implements `signet clients add`. A generated secret is printed only this once; the store gets its hash. */
export const addClientTo = async (options: AddClientOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const written = await readMetadata(options)
  const metadata = { ...written, ...(options.clientId !== undefined && { client_id: options.clientId }) }
  const result = await administer(checked.config, (administration, by) =>
    addClient(administration, by, { checked, metadata }),
  )
  if (isRefusal(result))
    throw result.refused === 'invalid' ? invalid(result) : new CommandFailed(notAdded[result.refused])
  for (const warning of result.warnings) printError(`warning: ${formatProblem(warning)}`)
  printCredentials(result.client_id, result.client_secret, options)
}

const notUpdated = {
  empty: 'There is nothing to change: see --help.',
  secret: 'A secret is changed by: signet clients rotate-secret',
  id: 'The id of a client cannot be changed.',
} as const

/**
 * Implements `signet clients update`. The given metadata replaces the existing members; `null` in the file removes a
 * member.
 */
export const updateClientOf = async (clientId: string, options: MetadataOptions): Promise<void> => {
  const metadata = await readMetadata(options)
  if (Object.keys(metadata).length === 0) throw new CommandFailed(notUpdated.empty)
  const checked = await checkDeployment(options)
  const result = await administer(checked.config, (administration, by) =>
    updateClient(administration, by, { checked, metadata, client_id: clientId }),
  )
  if (isRefusal(result)) {
    if (result.refused === 'invalid') throw invalid(result)
    const { refused } = result
    throw refused === 'empty' || refused === 'secret' || refused === 'id'
      ? new CommandFailed(notUpdated[refused])
      : clientNotChanged({ refused })
  }
  for (const warning of result.warnings) printError(`warning: ${formatProblem(warning)}`)
  if (options.json || result.client_secret !== undefined)
    return printCredentials(clientId, result.client_secret, options)
  print(`Updated ${clientId}`)
}

/** Reads the metadata of the file; that of the options takes precedence. Throws `CommandFailed`. */
const readMetadata = async (options: MetadataOptions): Promise<JsonObject> => ({
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
