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
  /** That keys sign now, the deployment's own first. */
  readonly idTokenAlgs: () => readonly JwsAlg[]
  readonly logoutTokenAlgs: () => readonly JwsAlg[]
  readonly allowPrivateAddresses: boolean
  /** What the deployment does not have that a client like this needs. */
  readonly findUnavailable: (client: Client) => readonly MetadataProblem[]
  readonly checkSector: CheckSector
}

/** A client that is to be registered, or its new metadata. */
export interface RequestedClient {
  readonly clientId: string
  /** As `readMetadata` returns it, without the software statement. */
  readonly metadata: JsonObject
  readonly policy: RegistrationPolicy
  /** As it is registered. */
  readonly current?: Client | undefined
}

export interface MadeClient {
  readonly client: Client
  /** A new one: nothing shows it again. */
  readonly secret?: string
}

const secretMethods = authenticationMethods({})

const listsOnlyTexts = (value: JsonValue | undefined): boolean =>
  value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'string'))

/**
 * A client that names no method may send its secret either way, as one of the operator: libraries send it in the form and do
 * not read that the method is `client_secret_basic` (RFC 7591 §2). So may one that sends back what the answer said.
 */
const sendsEitherWay = ({ metadata, policy, current }: RequestedClient): boolean => {
  const { token_endpoint_auth_method: method } = metadata
  const isEcho = method === 'client_secret_basic' && current !== undefined && !current.token_endpoint_auth_method
  return (method === undefined || isEcho) && secretMethods.every((name) => policy.authMethods.includes(name))
}

/** What a client has that does not ask (RFC 7591 §2), within the policy. */
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

/** Of an operator who has changed the client since: they stay. */
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

/** The secrets that the client has go on, where it still needs one. */
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

/** What of the record is not for the client to say, from the record as it stands. */
export const keepFromRecord = (client: Client, current: Client | undefined): Client =>
  keepSecrets(keepOwned(client, current), current)

/**
 * Makes a client of what somebody asks for, or refuses it (RFC 7591 §2, §3.2.2): nothing is left out in silence. Throws
 * `invalid_redirect_uri`, `invalid_client_metadata`.
 */
export const createMakeClient = (options: MakeClientOptions) => {
  const { idTokenAlgs, logoutTokenAlgs, allowPrivateAddresses, findUnavailable, checkSector } = options

  /** OIDC Registration §2: RS256, whatever the deployment has, where there is such a key. */
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
