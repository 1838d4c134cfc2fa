import type { JsonObject } from '../../json.js'
import type { Client } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { keepFromRecord } from '../../oauth/registration/make-client.js'
import { checkOpenSize } from '../../oauth/registration/open-size.js'
import { metadataRefused } from '../../oauth/registration/refuse-metadata.js'
import { parseRegistration, readMetadata } from '../../oauth/registration/read-metadata.js'
import { isSameText } from '../../oauth/same-text.js'
import { hashOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import { createAccessTokens } from '../access-token.js'
import type { Declaration } from '../endpoint.js'
import { json, type EndpointRequest, type Reply } from '../message.js'
import type { RecordedHandler } from '../refusals.js'
import { clientInformation, registrationPath } from './answer.js'
import { checkQuery, describeClient, type RegistrationOptions } from './register.js'

/** GET, PUT and DELETE `/register/{client_id}` (RFC 7592). */
export const clientConfigurationEndpoint = {
  path: `${registrationPath}/{client_id}`,
  methods: ['GET', 'PUT', 'DELETE'],
  body: 'json',
  cors: true,
  limit: { byAddress: 'register', byRefusals: true },
  refusedEvent: 'registration.refused',
} as const satisfies Declaration

/** A client that presented its registration token. */
interface Owner {
  readonly client: Client
  readonly token: string
}

export const createClientConfigurationEndpoint = (
  options: Pick<RegistrationOptions, 'issuer' | 'policyOf' | 'statements' | 'makeClient' | 'clients' | 'audit'>,
): RecordedHandler => {
  const { issuer, policyOf, statements, makeClient, clients, audit } = options
  const tokens = createAccessTokens(registrationPath, undefined)

  const authenticate = async (http: EndpointRequest): Promise<Owner> => {
    const { token } = tokens.readToken(http)
    const client = await clients.find(http.path.get('client_id') ?? '', token)
    return typeof client === 'string' ? tokens.refuse('Bearer', client) : { client, token }
  }

  const gone = () => tokens.refuse('Bearer', 'the registration was changed or deleted meanwhile')

  /** RFC 7592 §2.2: the id must be the client's, and so must the secret, if present. */
  const checkOwn = ({ client_id: id, client_secret: secret }: JsonObject, { client }: Owner): string | undefined => {
    if (id !== client.client_id) throw metadataRefused([{ path: 'client_id', message: 'must be that of the client' }])
    if (secret === undefined || secret === null) return undefined
    if (typeof secret === 'string' && isSameText(hashOpaqueToken(secret), client.client_secret_sha256 ?? ''))
      return secret
    throw metadataRefused([{ path: 'client_secret', message: 'is not that of the client, which cannot choose it' }])
  }

  const replace = async (http: EndpointRequest, owner: Owner): Promise<Reply> => {
    const { client: current } = owner
    const { registration } = current
    const sent = parseRegistration(http.body)
    const known = checkOwn(sent, owner)
    const policy = policyOf(registration?.policy)
    if (registration === undefined || policy === undefined)
      throw new OAuthError('invalid_client_metadata', 'The policy that this client was registered by is gone.')
    const { software_statement: statement, ...metadata } = await statements.apply(
      readMetadata(sent),
      policy.requireStatement,
      registration.software_statement,
    )
    const { client: made, secret: fresh } = await makeClient({ clientId: current.client_id, metadata, policy, current })
    const registrationToken = newOpaqueToken()
    const changed = (record: Client): Client => ({
      ...keepFromRecord(made, record),
      registration: {
        ...(record.registration ?? registration),
        access_token_sha256: hashOpaqueToken(registrationToken),
        ...(typeof statement === 'string' && { software_statement: statement }),
      },
    })
    const client = changed(current)
    checkOpenSize(client)
    // A change that cannot be recorded is not made.
    await audit.record({ event: 'client.updated', request_id: http.requestId, ...describeClient(client) })
    if (!(await clients.replace(current, changed))) gone()
    const isKept = client.client_secret_sha256 === current.client_secret_sha256
    return json(
      200,
      clientInformation(issuer, { client, registrationToken, secret: fresh ?? (isKept ? known : undefined) }),
    )
  }

  const remove = async (http: EndpointRequest, { client }: Owner): Promise<Reply> => {
    await audit.record({ event: 'client.deleted', request_id: http.requestId, ...describeClient(client) })
    if (!(await clients.remove(client))) gone()
    return { status: 204, headers: { 'Cache-Control': 'no-store', Pragma: 'no-cache' } }
  }

  return async (http, seen) => {
    checkQuery(http)
    const owner = await authenticate(http)
    seen.client = owner.client
    switch (http.method) {
      case 'PUT':
        return replace(http, owner)
      case 'DELETE':
        return remove(http, owner)
      default:
        return json(200, clientInformation(issuer, { ...owner, registrationToken: owner.token }))
    }
  }
}
