import { randomUUID } from 'node:crypto'
import type { Problem } from '../../config/problems.js'
import { checkClient, type CheckedConfiguration } from '../checks/check-configuration.js'
import { collections } from '../collections/collections.js'
import { openAccountStore } from '../interaction/accounts.js'
import type { JsonObject } from '../json.js'
import { parseClientMetadata, secretMembers, toMetadata } from '../oauth/clients/client-metadata.js'
import type { Client } from '../oauth/clients/client.js'
import { hashOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import { change, type Administration, type Operator, type Refusal } from './administration.js'
import { neededApprovals, requireApproval } from './require-approval.js'
import { changeClient, isConfigured, type ChangedClient, type ClientRefusal } from './clients.js'

/**
 * Metadata as operators write it (RFC 7591 §2, and Signet's own members); `checked` is the configuration with its
 * modules.
 */
export interface WrittenMetadata {
  readonly checked: CheckedConfiguration
  readonly metadata: JsonObject
}

/** A client that was written, and the secret that was generated for it. Only its hash is stored. */
export interface WrittenClient {
  readonly client_id: string
  readonly client_secret?: string
  /** Problems with metadata that is allowed but probably a mistake. */
  readonly warnings: readonly Problem[]
}

/** Metadata that no client of this configuration can have. */
export interface InvalidMetadata extends Refusal<'invalid'> {
  readonly problems: readonly Problem[]
}

const parse = async (
  checked: CheckedConfiguration,
  metadata: JsonObject,
): Promise<{ readonly client: Client; readonly warnings: readonly Problem[] } | InvalidMetadata> => {
  const { scopes_supported, security_profile } = checked.config
  const { client, problems, warnings } = parseClientMetadata(metadata, scopes_supported, security_profile)
  if (client === undefined) return { refused: 'invalid', problems }
  const misfits = await checkClient(checked, client)
  return misfits.length > 0 ? { refused: 'invalid', problems: misfits } : { client, warnings }
}

/**
 * A client without an authentication method authenticates with a secret. A secret that the operator has written is
 * kept.
 */
const needsSecret = (metadata: JsonObject): boolean =>
  !('client_secret' in metadata) &&
  ['client_secret_basic', 'client_secret_post', undefined].includes(
    metadata['token_endpoint_auth_method'] as string | undefined,
  )

/**
 * Checks the metadata of a client, and returns the client that it makes, with the defaults filled in. Its secret, if
 * it needs one, is nobody's.
 */
export const normalizeMetadata = (checked: CheckedConfiguration, metadata: JsonObject) =>
  parse(checked, { ...metadata, ...(needsSecret(metadata) && { client_secret: newOpaqueToken() }) })

/**
 * Adds a client, with a random `client_id` where none is given, and a generated secret where it needs one. `subject`:
 * the id is the subject of a person, and the tokens of both would have it as `sub` (RFC 9700 §4.15). Throws
 * `Unavailable`.
 */
export const addClient = async (
  administration: Administration,
  by: Operator,
  { checked, metadata }: WrittenMetadata,
): Promise<WrittenClient | InvalidMetadata | Refusal<'configured' | 'exists' | 'subject'>> => {
  const generated = needsSecret(metadata) ? newOpaqueToken() : undefined
  const parsed = await parse(checked, {
    ...metadata,
    client_id: metadata['client_id'] ?? randomUUID(),
    ...(generated !== undefined && { client_secret: generated }),
  })
  if ('refused' in parsed) return parsed
  const { client, warnings } = parsed
  const { client_id } = client
  if (isConfigured(administration.config, client_id)) return { refused: 'configured' }
  const secrets = generated === undefined ? {} : { client_secret: generated }
  const added = await putClient(administration, by, client, secrets)
  return 'refused' in added ? added : { client_id, ...secrets, warnings }
}

/** Adds a client that was checked. Throws `Unavailable`. */
export const putClient = async (
  administration: Administration,
  by: Operator,
  client: Client,
  secrets: JsonObject = {},
): Promise<{ readonly client_id: string } | Refusal<'exists' | 'subject'>> => {
  const { client_id } = client
  const { stores } = administration
  const findFault = async (): Promise<Refusal<'exists' | 'subject'> | undefined> => {
    if ((await openAccountStore(stores.records).subjects.find(client_id)) !== undefined) return { refused: 'subject' }
    return (await collections(stores).clients.find(client_id)) === undefined ? undefined : { refused: 'exists' }
  }
  if (neededApprovals(administration, 'client.add') > 0) {
    const fault = await findFault()
    if (fault !== undefined) return fault
    const to = { client: client as unknown as JsonObject }
    await requireApproval(administration, by, {
      action: 'client.add',
      object: `client:${client_id}`,
      from: null,
      to,
      secrets,
    })
  }
  return change(administration, by, { action: 'client.add', client_id }, async () => {
    const fault = await findFault()
    if (fault !== undefined) return fault
    const isAdded = await collections(stores).clients.put(client_id, client, { onlyIfAbsent: true })
    return isAdded ? { client_id } : { refused: 'exists' }
  })
}

const secretsOf = (client: Client): Partial<Client> =>
  Object.fromEntries(secretMembers.flatMap((name) => (client[name] === undefined ? [] : [[name, client[name]]])))

/**
 * Replaces the given members of a client's metadata; `null` removes one. A client keeps its secret, or gets its first
 * one when it now needs one. `secret`: only `rotateClientSecret` changes a secret. Throws `Unavailable`.
 */
export const updateClient = async (
  administration: Administration,
  by: Operator,
  { checked, metadata: given, ...which }: WrittenMetadata & ChangedClient,
): Promise<WrittenClient | InvalidMetadata | ClientRefusal | Refusal<'empty' | 'secret' | 'id'>> => {
  const { client_id } = which
  if (Object.keys(given).length === 0) return { refused: 'empty' }
  if ('client_secret' in given) return { refused: 'secret' }
  if ((given['client_id'] ?? client_id) !== client_id) return { refused: 'id' }
  let generated: string | undefined
  let warnings: readonly Problem[] = []
  const changed = await changeClient<InvalidMetadata>(
    administration,
    by,
    { action: 'update', ...which, secrets: () => (generated === undefined ? {} : { client_secret: generated }) },
    async (before) => {
      // The response types are derived from the grant types, so new grant types change them.
      const derived: JsonObject = 'grant_types' in given ? { response_types: null } : {}
      const merged = Object.entries({ ...toMetadata(before), ...derived, ...given })
      const metadata = Object.fromEntries(merged.filter(([, value]) => value !== null))
      const secret = needsSecret(metadata) ? newOpaqueToken() : undefined
      const parsed = await parse(checked, { ...metadata, ...(secret !== undefined && { client_secret: secret }) })
      if ('refused' in parsed) return parsed
      warnings = parsed.warnings
      const kept = { ...parsed.client, ...(before.registration && { registration: before.registration }) }
      if (secret === undefined) return kept
      if (before.client_secret_sha256 !== undefined) return { ...kept, ...secretsOf(before) }
      generated = secret
      return kept
    },
  )
  if ('refused' in changed) return changed
  return { client_id, ...(generated !== undefined && { client_secret: generated }), warnings }
}

/** The new secret of a client. */
export interface RotatedSecret {
  readonly client_id: string
  readonly client_secret: string
  /** Seconds since the epoch; present when the previous secret stays valid for a while. */
  readonly previous_client_secret_expires_at?: number
}

/**
 * Replaces the secret of a client. The previous one ends now, or after `overlap` seconds. `no_secret`: the client
 * authenticates by `reason`, or not at all. Throws `Unavailable`.
 */
export const rotateClientSecret = async (
  administration: Administration,
  by: Operator,
  { overlap, ...which }: ChangedClient & { readonly overlap?: number | undefined },
): Promise<RotatedSecret | ClientRefusal | Refusal<'no_secret'>> => {
  const secret = newOpaqueToken()
  const seconds = Math.floor(administration.clock() / 1000)
  const changed = await changeClient<Refusal<'no_secret'>>(
    administration,
    by,
    { action: 'rotate_secret', ...which, secrets: () => ({ client_secret: secret }) },
    (before) => Promise.resolve(withSecret(before, secret, { seconds, overlap })),
  )
  if ('refused' in changed) return changed
  const { previous_client_secret_expires_at: until } = changed.client
  return {
    client_id: which.client_id,
    client_secret: secret,
    ...(until !== undefined && { previous_client_secret_expires_at: until }),
  }
}

/** A secret that had an expiry keeps it. */
const withSecret = (
  client: Client,
  secret: string,
  { seconds, overlap }: { readonly seconds: number; readonly overlap: number | undefined },
): Client | Refusal<'no_secret'> => {
  const { client_secret_sha256: before, client_secret_expires_at: expiry = 0 } = client
  const { token_endpoint_auth_method: method } = client
  if (before === undefined) return { refused: 'no_secret', ...(method !== undefined && { reason: method }) }
  const gone: readonly string[] = [...secretMembers, 'client_secret_expires_at']
  const kept = Object.fromEntries(Object.entries(client).filter(([name]) => !gone.includes(name)))
  const end = seconds + (overlap ?? 0)
  return {
    ...(kept as unknown as Client),
    client_secret_sha256: hashOpaqueToken(secret),
    ...(overlap !== undefined && {
      previous_client_secret_sha256: before,
      previous_client_secret_expires_at: expiry === 0 ? end : Math.min(end, expiry),
    }),
  }
}
