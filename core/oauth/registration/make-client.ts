import type { JsonObject, JsonValue } from '../../json.js'
import type { JwsAlg } from '../../jose/jwk.js'
import { newOpaqueToken } from '../../opaque-token.js'
import type { CheckSector } from '../clients/check-sector.js'
import { parseClientMetadata } from '../clients/client-metadata.js'
import type { MetadataProblem } from '../clients/metadata-rules.js'
import { authenticationMethods, type Client } from '../clients/client.js'
import { findBeyondPolicy, type RegistrationPolicy } from './policy.js'
import { findUriFaults } from './public-uris.js'
import { metadataRefused } from './refuse-metadata.js'

export interface MakeClientOptions {
  /** The algorithms that keys sign with at present, the deployment's own first. */
  readonly idTokenAlgs: () => readonly JwsAlg[]
  readonly logoutTokenAlgs: () => readonly JwsAlg[]
  readonly allowPrivateAddresses: boolean
  /** Finds what the client needs and the deployment does not have. */
  readonly findUnavailable: (client: Client) => readonly MetadataProblem[]
  readonly checkSector: CheckSector
}

/** A client that is to be registered, or its new metadata. */
export interface RequestedClient {
  readonly clientId: string
  /** The metadata that `readMetadata` returned, without the software statement. */
  readonly metadata: JsonObject
  readonly policy: RegistrationPolicy
  /** The client as it is registered at present. */
  readonly current?: Client | undefined
}

export interface MadeClient {
  readonly client: Client
  /** A new secret. It cannot be shown again. */
  readonly secret?: string
}

const secretMethods = authenticationMethods({})

const listsOnlyTexts = (value: JsonValue | undefined): boolean =>
  value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'string'))

/**
 * A client that names no method may send its secret either way, like a client of the operator: libraries send it in
 * the form and do not read that the method is `client_secret_basic` (RFC 7591 §2). The same holds for a client that
 * sends back the method from the response.
 */
const sendsEitherWay = ({ metadata, policy, current }: RequestedClient): boolean => {
  const { token_endpoint_auth_method: method } = metadata
  const isEcho = method === 'client_secret_basic' && current !== undefined && !current.token_endpoint_auth_method
  return (method === undefined || isEcho) && secretMethods.every((name) => policy.authMethods.includes(name))
}

/** Returns the defaults of a client that does not name these members (RFC 7591 §2), within the policy. */
const defaultsOf = ({ policy, current }: RequestedClient) => {
  const { grantTypes, authMethods, audiences } = policy
  const prefer = (standard: string, allowed: readonly string[]): string =>
    allowed.includes(standard) ? standard : (allowed[0] ?? standard)
  return {
    grant_types: [prefer('authorization_code', grantTypes)],
    token_endpoint_auth_method: prefer('client_secret_basic', authMethods),
    allowed_audiences: current?.allowed_audiences ?? audiences,
  }
}

/** Fields that an operator has changed since registration are kept. */
const keepOwned = (client: Client, current: Client | undefined): Client => {
  if (current === undefined) return client
  const { consent, disabled, introspection_audiences, metadata } = current
  return {
    ...client,
    metadata,
    ...(consent && { consent }),
    ...(disabled !== undefined && { disabled }),
    ...(introspection_audiences && { introspection_audiences }),
  }
}

/** The client keeps its secrets if it still needs one. */
const keepSecrets = (client: Client, current: Client | undefined): Client => {
  if (client.client_secret_sha256 === undefined || current?.client_secret_sha256 === undefined) return client
  const { client_secret_sha256, client_secret_expires_at } = current
  const { previous_client_secret_sha256, previous_client_secret_expires_at } = current
  return {
    ...client,
    client_secret_sha256,
    ...(client_secret_expires_at !== undefined && { client_secret_expires_at }),
    ...(previous_client_secret_sha256 !== undefined && { previous_client_secret_sha256 }),
    ...(previous_client_secret_expires_at !== undefined && { previous_client_secret_expires_at }),
  }
}

/** Keeps the members of the current record that the client cannot set. */
export const keepFromRecord = (client: Client, current: Client | undefined): Client =>
  keepSecrets(keepOwned(client, current), current)

/**
 * Makes a client from requested metadata, or refuses it (RFC 7591 §2, §3.2.2); nothing is dropped silently. Throws
 * `invalid_redirect_uri`, `invalid_client_metadata`.
 */
export const createMakeClient = (options: MakeClientOptions) => {
  const { idTokenAlgs, logoutTokenAlgs, allowPrivateAddresses, findUnavailable, checkSector } = options

  /**
   * OIDC Registration §2 makes RS256 the default. It is used if there is such a key, whatever else the deployment
   * has.
   */
  const withIdTokenAlg = (client: Client, { signingAlgs }: RegistrationPolicy): Client => {
    if (client.id_token_signed_response_alg !== undefined || !client.scope.includes('openid')) return client
    const forLogout = client.backchannel_logout_uri === undefined ? undefined : logoutTokenAlgs()
    const usable = idTokenAlgs().filter((alg) => signingAlgs.includes(alg) && forLogout?.includes(alg) !== false)
    const alg = usable.includes('RS256') ? 'RS256' : usable[0]
    return alg === undefined ? client : { ...client, id_token_signed_response_alg: alg }
  }

  return async (asked: RequestedClient): Promise<MadeClient> => {
    const { clientId, metadata, policy, current } = asked
    const refuse = (problems: readonly MetadataProblem[]): void => {
      if (problems.length > 0) throw metadataRefused(problems, listsOnlyTexts(metadata['redirect_uris']))
    }
    refuse(findBeyondPolicy(metadata, policy, current?.allowed_audiences))
    const { token_endpoint_auth_method: method, ...wanted }: JsonObject = { ...defaultsOf(asked), ...metadata }
    const isEither = sendsEitherWay(asked)
    const needsSecret = isEither || (typeof method === 'string' && method.startsWith('client_secret_'))
    const secret = needsSecret ? newOpaqueToken() : undefined
    const owned = {
      ...(!isEither && { token_endpoint_auth_method: method }),
      client_id: clientId,
      security_profile: policy.securityProfile,
      client_secret: secret,
    }
    const { client: parsed, problems } = parseClientMetadata({ ...wanted, ...owned }, policy.scopes)
    if (parsed === undefined) throw metadataRefused(problems, listsOnlyTexts(metadata['redirect_uris']))
    refuse(findUriFaults(parsed, allowPrivateAddresses))
    const client = withIdTokenAlg(parsed, policy)
    refuse(findUnavailable(client).map(({ path }) => ({ path, message: 'is not available here' })))
    refuse(await checkSector(client, 'registration'))
    const kept = keepFromRecord(client, current)
    const isNewSecret = secret !== undefined && kept.client_secret_sha256 === client.client_secret_sha256
    return { client: kept, ...(isNewSecret && { secret }) }
  }
}

export type MakeClient = ReturnType<typeof createMakeClient>
