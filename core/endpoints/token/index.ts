import type { SignaturePriority } from '../../keys/ports.js'
import type { AccountLookup } from '../../oauth/account.js'
import type { ClientAuthentication } from '../../oauth/client-authentication.js'
import type { Client } from '../../oauth/client.js'
import type { Dpop, DpopProof } from '../../oauth/dpop.js'
import { OAuthError } from '../../oauth/errors.js'
import { narrowAuthorizationDetails, type AuthorizationDetailsTypes } from '../../oauth/authorization-details.js'
import { bindGrant, familyConstraint } from '../../oauth/grant-binding.js'
import type { GrantDecision, GrantHandler, SenderConstraint } from '../../oauth/grant.js'
import { checkResources } from '../../oauth/resource.js'
import { checkClientAuthentication, runGrant, withoutCredentials } from '../../oauth/run-grant.js'
import { checkProofAlgorithm } from '../../oauth/security-profile.js'
import { checkScope, isOffline } from '../../oauth/scope.js'
import type { AuditLog } from '../../observe/audit.js'
import type { PreparedTokens, SignedTokens, TokenIssuer } from '../../tokens/issuer.js'
import type { RegisteredClients } from '../../oauth/registration/registered-clients.js'
import type { Redeem } from '../../tokens/redeem.js'
import { formParameters, readClientForm, tokenRequestOf } from '../client-request.js'
import type { Declaration } from '../endpoint.js'
import { json, type EndpointRequest, type Reply } from '../message.js'
import type { RecordedHandler } from '../refusals.js'
import { clientAttestation, clientAuthentication } from '../supported.js'
import { TokenTrail } from './trail.js'

export interface TokenOptions {
  readonly authenticateClient: ClientAuthentication
  /** By `grant_type`: what is loaded and switched on. */
  readonly grants: ReadonlyMap<string, GrantHandler>
  /** Absent where nobody signs in. */
  readonly accounts?: AccountLookup | undefined
  readonly defaultAudience: string
  readonly detailsTypes: AuthorizationDetailsTypes
  readonly tokens: TokenIssuer
  readonly redeem: Redeem
  readonly noteUse: RegisteredClients['noteUse']
  readonly audit: AuditLog
  /** Absent without a replay guard: then proofs are refused. */
  readonly dpop?: Dpop | undefined
}

/** `POST /token` (RFC 6749 §3.2), from the form to the answer in the order of things. */
export const tokenEndpoint = {
  path: '/token',
  methods: ['POST'],
  body: 'form',
  cors: true,
  limit: { byAddress: 'token', byRefusals: true },
  refusedEvent: 'token.refused',
  discovery: (supported) => ({
    token_endpoint: `${supported.issuer}/token`,
    ...clientAuthentication('token', supported),
    ...clientAttestation(supported),
  }),
} as const satisfies Declaration

export const createTokenEndpoint = (options: TokenOptions): RecordedHandler => {
  const { authenticateClient, grants, accounts, tokens, redeem, noteUse, audit, dpop } = options

  /** Registered and loaded are two things: RFC 6749 §5.2 names them differently. */
  const grantOf = (params: ReadonlyMap<string, string>, client: Client): GrantHandler => {
    const grantType = params.get('grant_type')
    if (grantType === undefined) throw new OAuthError('invalid_request', 'The parameter grant_type is missing.')
    const handler = grants.get(grantType)
    if (handler === undefined) throw new OAuthError('unsupported_grant_type', 'The grant type is not supported.')
    if (!client.grant_types.includes(grantType))
      throw new OAuthError('unauthorized_client', 'The client may not use this grant type.')
    return handler
  }

  /** A person who is gone gets nothing more (OIDC Core §16). Of an account that needs no read, `redeem` finds out whether it is. */
  const accountOf = async (decision: GrantDecision, signal: AbortSignal) => {
    if (decision.authentication === undefined) return undefined
    const { subject } = decision
    const account = accounts?.peek?.(subject) ?? (await accounts?.find(subject, signal))
    if (account !== undefined) return account
    throw new OAuthError('invalid_grant', 'The grant is invalid, expired, revoked or was already used.', {
      reason: 'the account is gone or disabled',
    })
  }

  /** RFC 9449 §5: undefined where the client sends none and need not. */
  const checkProof = async (request: EndpointRequest, client: Client): Promise<DpopProof | undefined> => {
    const proof = request.header('dpop')
    if (proof === undefined && client.dpop_bound_access_tokens !== true) return undefined
    if (dpop === undefined) throw new OAuthError('invalid_dpop_proof', 'DPoP is not available.')
    if (proof !== undefined) return dpop.check({ proof, method: request.method, path: '/token' })
    const headers = await dpop.nonceHeader()
    throw new OAuthError('invalid_dpop_proof', 'This client must send a DPoP proof.', { headers })
  }

  /** RFC 9396 §6. */
  const narrowDetails = async (
    decision: GrantDecision,
    asked: string | undefined,
    client: Client,
    signal: AbortSignal,
  ) => {
    const { authorizationDetails: granted = decision.grant?.authorizationDetails, ...others } = decision
    if (asked === undefined && granted === undefined) return decision
    const { detailsTypes: types, defaultAudience } = options
    const audience = decision.audience ?? decision.grant?.resource ?? []
    const details = await narrowAuthorizationDetails(
      asked,
      granted ?? [],
      audience.length === 0 ? [defaultAudience] : audience,
      { client, types, defaultAudience, signal },
    )
    return { ...others, ...(details && { authorizationDetails: details }) }
  }

  const wantsRefresh = (decision: GrantDecision, prepared: PreparedTokens): boolean =>
    decision.refresh === true &&
    decision.authentication !== undefined &&
    isOffline({ ...decision.grant, scope: prepared.scope }) &&
    prepared.client.grant_types.includes('refresh_token') &&
    grants.has('refresh_token')

  return async (request, seen) => {
    const { params, resources, audience } = readForm(request)
    const asked = tokenRequestOf(request, params, tokenEndpoint.path)
    const { client, method, confirmation, instanceJkt, dpop: proven } = await authenticateClient(asked, request.signal)
    seen.client = client
    const proof = proven ?? (await checkProof(request, client))
    checkProofAlgorithm(client, proof)
    const constraint = constraintOf(confirmation, proof, checkCertificate(request, client))
    const handler = grantOf(params, client)
    checkClientAuthentication(handler, method)
    const decided = await runGrant(handler, {
      client,
      params: withoutCredentials(params),
      scope: checkScope(params.get('scope'), client),
      resource: checkResources(resources, client, options.defaultAudience),
      audience,
      ...(constraint && { constraint }),
      signal: request.signal,
    })
    const bound = bindGrant(decided, client, constraint, instanceJkt)
    const decision = await narrowDetails(bound, params.get('authorization_details'), client, request.signal)
    const account = await accountOf(decision, request.signal)
    const prepared = tokens.prepare(client, decision, account, constraint)
    const refresh = wantsRefresh(decision, prepared)
    const settled = refresh ? withGrant(decision, prepared, constraint, instanceJkt) : decision
    const { requestId, signal } = request
    const { subject: sub, jti } = prepared
    const trail = new TokenTrail(audit, { request_id: requestId, client_id: client.client_id, sub, jti })
    try {
      const signed = await tokens.sign(prepared, priorityOf(decision), signal, trail.signatures)
      // A signature that nobody can record burns nothing (F34), so it is recorded before the code is consumed.
      if (decision.redeem !== undefined) await trail.signed()
      await proof?.claim()
      const refreshToken = await redeem({ client, requestId, signal }, settled, refresh)
      await trail.issued({
        grant_type: handler.grantType,
        client_auth_method: method,
        grant_id: settled.grant?.grantId ?? decision.grantId,
        ...describe(prepared, signed),
        pairwise_sub: prepared.pairwiseSubject,
        refresh_token: refresh,
        jkt: proof?.jkt,
        instance_jkt: instanceJkt,
        'x5t#S256': constraint?.['x5t#S256'],
      })
      // Of a client that registered itself, until it has been used.
      if (client.registration?.unused_until !== undefined) await noteUse(client, decision.authentication !== undefined)
      return respond(decision, prepared, signed, refreshToken, proof)
    } catch (error) {
      await trail.refused()
      throw error
    }
  }
}

/** RFC 8705 §3: undefined where the client's tokens are not bound to one. */
const checkCertificate = (request: EndpointRequest, client: Client): string | undefined => {
  if (client.tls_client_certificate_bound_access_tokens !== true) return undefined
  const certificate = request.clientCertificate()
  if (certificate !== undefined) return certificate.thumbprint
  throw new OAuthError('invalid_request', 'This client must use a certificate.', { reason: 'no client certificate' })
}

/** Everything that the tokens are to be bound to; undefined: nothing. */
const constraintOf = (
  confirmation: SenderConstraint | undefined,
  proof: DpopProof | undefined,
  thumbprint: string | undefined,
): SenderConstraint | undefined =>
  proof === undefined && thumbprint === undefined
    ? confirmation
    : { ...confirmation, ...(proof && { jkt: proof.jkt }), ...(thumbprint !== undefined && { 'x5t#S256': thumbprint }) }

/** People who wait for a sign-in go first. */
const priorityOf = ({ authentication, redeem }: GrantDecision): SignaturePriority => {
  if (authentication === undefined) return 'machine'
  return redeem?.kind === 'refresh_token' ? 'refresh' : 'sign_in'
}

/** Of the grants of RFC 6749, 8628, 8693, 8707 and 9396, and of OpenID CIBA. */
const parameters = formParameters(
  ...['grant_type', 'scope', 'resource', 'audience', 'authorization_details'],
  ...['code', 'redirect_uri', 'code_verifier', 'refresh_token', 'device_code', 'auth_req_id'],
  ...['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type', 'requested_token_type'],
  ...['assertion', 'username', 'password', 'access_token'],
)

/** `resource` and `audience` alone may be repeated (RFC 8707 §2, RFC 8693 §2.1). */
const readForm = (request: EndpointRequest) => ({
  params: readClientForm(request, parameters, 'resource', 'audience'),
  resources: request.form.all('resource'),
  audience: [...new Set(request.form.all('audience'))],
})

/** What was issued, in words that may be logged. */
const describe = ({ audience, scope, expiresAt, dropped }: PreparedTokens, { idToken }: SignedTokens) => ({
  aud: audience,
  scope: scope.join(' '),
  exp: expiresAt,
  id_token: idToken !== undefined,
  claims_dropped: dropped.length > 0 ? dropped : undefined,
})

/** A grant of a deployer's own has no record yet: what is issued now is what its refresh tokens continue. */
const withGrant = (
  decision: GrantDecision,
  { client, subject, scope, audience, grantId }: PreparedTokens,
  constraint: SenderConstraint | undefined,
  instanceJkt: string | undefined,
): GrantDecision => {
  const { grant, authentication, requestedClaims, authorizationDetails } = decision
  if (grant !== undefined || authentication === undefined) return decision
  const continued = { grantId, clientId: client.client_id, subject, scope, resource: audience, authentication }
  const bound = familyConstraint(client, constraint)
  return {
    ...decision,
    grant: {
      ...continued,
      ...(requestedClaims && { requestedClaims }),
      ...(authorizationDetails && { authorizationDetails }),
      ...(bound && { constraint: bound }),
      ...(instanceJkt !== undefined && { instanceJkt }),
    },
  }
}

const respond = (
  { issuedTokenType, authorizationDetails }: GrantDecision,
  prepared: PreparedTokens,
  signed: SignedTokens,
  refreshToken: string | undefined,
  proof: DpopProof | undefined,
): Reply => {
  const body = {
    access_token: signed.accessToken,
    token_type: proof ? 'DPoP' : 'Bearer',
    expires_in: prepared.expiresIn,
    ...(prepared.scope.length > 0 && { scope: prepared.scope.join(' ') }),
    authorization_details: authorizationDetails,
    id_token: signed.idToken,
    refresh_token: refreshToken,
    issued_token_type: issuedTokenType,
  }
  return json(200, body, proof?.headers)
}
