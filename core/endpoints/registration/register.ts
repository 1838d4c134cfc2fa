import { randomUUID } from 'node:crypto'
import { addressBucket } from '../../address-bucket.js'
import { epochSeconds, type Clock } from '../../clock.js'
import type { Slot, Slots } from '../../interaction/slots.js'
import type { Client, ClientRegistration } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { metadataSchema } from '../../oauth/clients/client-metadata-schema.js'
import type { FoundInitialAccessToken, InitialAccessTokens } from '../../oauth/registration/initial-access-token.js'
import type { MakeClient } from '../../oauth/registration/make-client.js'
import type { RegistrationPolicy } from '../../oauth/registration/policy.js'
import { parseRegistration, readMetadata } from '../../oauth/registration/read-metadata.js'
import { checkOpenSize, openBytes } from '../../oauth/registration/open-size.js'
import { unseenSeconds, type RegisteredClients } from '../../oauth/registration/registered-clients.js'
import type { SoftwareStatements } from '../../oauth/registration/software-statement.js'
import type { AuditLog } from '../../observe/audit.js'
import { hashOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import { createAccessTokens } from '../access-token.js'
import type { Declaration } from '../endpoint.js'
import { json, type EndpointRequest } from '../message.js'
import type { RecordedHandler } from '../refusals.js'
import { clientInformation, registrationPath } from './answer.js'

export interface RegistrationOptions {
  readonly issuer: string
  /** Whether anyone may register a client without an initial access token. */
  readonly isOpen: boolean
  /** Finds a policy by name, or the public one without a name. Undefined when there is none with this name. */
  readonly policyOf: (name: string | undefined) => RegistrationPolicy | undefined
  readonly initialAccessTokens: InitialAccessTokens
  readonly statements: SoftwareStatements
  readonly makeClient: MakeClient
  readonly clients: RegisteredClients
  /** Limits how many clients one address may register without a token. */
  readonly openRegistrations: Slots
  readonly unusedSeconds: number
  readonly audit: AuditLog
  readonly clock: Clock
}

/** `POST /register` (RFC 7591 §3, OpenID Connect Dynamic Client Registration §3). */
export const registrationEndpoint = {
  path: registrationPath,
  methods: ['POST'],
  body: 'json',
  cors: true,
  limit: { byAddress: 'register', byRefusals: true },
  refusedEvent: 'registration.refused',
  discovery: ({ issuer }) => ({ registration_endpoint: `${issuer}${registrationPath}` }),
} as const satisfies Declaration

const members: ReadonlySet<string> = new Set([
  ...Object.keys(metadataSchema.shape),
  'software_statement',
  'access_token',
])

/** Metadata belongs in the body, and a token in the header; other names in the query are ignored. */
export const checkQuery = ({ query }: EndpointRequest): void => {
  if ([...query.values.keys()].some((name) => members.has(name)))
    throw new OAuthError('invalid_request', 'Parameters belong in the body of the request.')
}

/** What the audit log records of a registration. */
export const describeClient = ({
  client_id,
  grant_types,
  scope,
  token_endpoint_auth_method,
  registration,
}: Client) => ({
  client_id,
  grant_types: grant_types.join(' '),
  scope: scope.join(' '),
  token_endpoint_auth_method,
  policy: registration?.policy,
  initial_access_token: registration?.initial_access_token,
})

export const createRegistrationEndpoint = (options: RegistrationOptions): RecordedHandler => {
  const { issuer, isOpen, policyOf, initialAccessTokens, statements, makeClient, clients, audit, clock } = options
  const tokens = createAccessTokens(registrationPath, undefined)

  /** Undefined if no token was sent and none is needed. */
  const findToken = async (http: EndpointRequest): Promise<FoundInitialAccessToken | undefined> => {
    if (isOpen && http.header('authorization') === undefined) return undefined
    const found = await initialAccessTokens.find(tokens.readToken(http).token)
    return typeof found === 'string' ? tokens.refuse('Bearer', found) : found
  }

  /** Takes a slot of the address if the registration has no token. */
  const enter = async (
    http: EndpointRequest,
    token: FoundInitialAccessToken | undefined,
    registration: ClientRegistration,
  ): Promise<Slot | undefined> => {
    if (token !== undefined) return undefined
    const entered = await options.openRegistrations.enter(http.address, unseenSeconds, openBytes(registration))
    if (entered.allowed) return entered.place
    throw new OAuthError('temporarily_unavailable', 'Too many clients were registered from this address.', {
      status: 429,
      reason: 'too many registrations of one address',
      headers: { 'Retry-After': String(entered.retryAfterSeconds) },
    })
  }

  /** The client is stored first: nobody knows it yet, and a failure here uses nothing up. */
  const store = async (client: Client, token: FoundInitialAccessToken | undefined, requestId: string) => {
    await clients.add(client)
    let redeemed = false
    try {
      if (token !== undefined) {
        redeemed = await initialAccessTokens.redeem(token.id)
        if (!redeemed) tokens.refuse('Bearer', 'initial access token was used up meanwhile')
      }
      await audit.record({ event: 'client.registered', request_id: requestId, ...describeClient(client) })
    } catch (error) {
      // In an outage the client remains until it expires, and nobody knows it.
      await Promise.allSettled([clients.remove(client), redeemed && token && initialAccessTokens.giveBack(token.id)])
      throw error
    }
  }

  return async (http, seen) => {
    checkQuery(http)
    const token = await findToken(http)
    if (token !== undefined) seen.auditFields = { initial_access_token: token.id }
    const { policy: policyName } = token?.record ?? {}
    const policy = policyOf(policyName) ?? tokens.refuse('Bearer', 'the policy of the initial access token is gone')
    const asked = readMetadata(parseRegistration(http.body))
    const { software_statement: statement, ...metadata } = await statements.apply(asked, policy.requireStatement)
    const clientId = randomUUID()
    const { client: made, secret } = await makeClient({ clientId, metadata, policy })
    const registrationToken = newOpaqueToken()
    const issuedAt = epochSeconds(clock)
    const bucket = addressBucket(http.address)
    const registration: ClientRegistration = {
      issued_at: issuedAt,
      access_token_sha256: hashOpaqueToken(registrationToken),
      unused_until: issuedAt + (token === undefined ? unseenSeconds : options.unusedSeconds),
      ...(token
        ? { initial_access_token: token.id }
        : { ...(bucket !== undefined && { address: bucket }), unseen: true as const }),
      ...(policyName !== undefined && { policy: policyName }),
      ...(typeof statement === 'string' && { software_statement: statement }),
    }
    const client = { ...made, registration }
    checkOpenSize(client)
    const place = await enter(http, token, registration)
    try {
      await store(client, token, http.requestId)
    } catch (error) {
      await options.openRegistrations.leave(place)
      throw error
    }
    return json(201, clientInformation(issuer, { client, registrationToken, secret }))
  }
}
