import { randomUUID } from 'node:crypto'
import { epochSeconds, type Clock } from '../clock.js'
import type { AccountLookup } from '../oauth/subjects/account.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { ClientDirectory } from '../oauth/clients/client.js'
import type { Dpop } from '../oauth/dpop.js'
import { isTokenOver } from '../oauth/grants/access-end.js'
import { OAuthError, withDetails } from '../oauth/errors.js'
import type { AuditLog } from '../observe/audit.js'
import { checkAuthentication, type RequiredAuthentication } from '../oauth/requests/required-authentication.js'
import type { RevocationStore } from '../storage/ports.js'
import type { AccessTokenVerifier } from '../tokens/access-token-verifier.js'
import type { TokenIssuer } from '../tokens/issuer.js'
import { createAccessTokens, type PresentedToken } from './access-token.js'
import type { Declaration } from './endpoint.js'
import { json, type Handler, type EndpointRequest } from './message.js'
import type { Refusals, AuditContext } from './refusals.js'

export interface UserinfoOptions {
  readonly accessTokenVerifier: Pick<AccessTokenVerifier, 'identify'>
  /** A token for another resource server is refused here. */
  readonly audiences: readonly string[]
  readonly clients: Pick<ClientDirectory, 'findEnabled'>
  readonly accounts: AccountLookup
  /** What the sign-in behind a token must satisfy (RFC 9470). */
  readonly requires: RequiredAuthentication
  readonly revocations: RevocationStore
  readonly tokens: TokenIssuer
  readonly audit: AuditLog
  readonly clock: Clock
  readonly refusals: Refusals
  /** Absent without a replay guard, and then no sender-constrained token is accepted. */
  readonly dpop?: Dpop | undefined
}

/** One string or a list of strings (RFC 7519 §4.1.3); empty for any other value. */
const strings = (value: unknown): readonly string[] => {
  const members: readonly unknown[] = Array.isArray(value) ? value : [value]
  return members.every((member) => typeof member === 'string') ? members : []
}

const outage = { error: 'temporarily_unavailable' }

/**
 * The caller's id, or a new one (FAPI 1.0 Baseline §6.2.1). It must be a UUID, so that callers cannot inject a
 * header.
 */
const interactionIdOf = (request: EndpointRequest): string => {
  const sent = request.header('x-fapi-interaction-id')
  return sent !== undefined && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(sent) ? sent : randomUUID()
}

/** Claims of every id_token. */
const idTokenClaims = ['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'acr', 'amr', 'sid']

/** `GET` and `POST /userinfo` (OIDC Core §5.3). */
export const userinfoEndpoint = {
  path: '/userinfo',
  methods: ['GET', 'POST'],
  body: 'form',
  cors: true,
  limit: { byAddress: 'userinfo', byRefusals: true },
  discovery: ({ issuer, claims }) => ({
    userinfo_endpoint: `${issuer}/userinfo`,
    claim_types_supported: ['normal'],
    claims_supported: [...new Set([...idTokenClaims, ...claims])],
  }),
} as const satisfies Declaration

export const createUserinfoEndpoint = (options: UserinfoOptions): Handler => {
  const { accessTokenVerifier, audiences, clients, accounts, revocations, tokens, audit, refusals, dpop, clock } =
    options
  const { readToken, checkSender, challenge, ...access } = createAccessTokens('/userinfo', dpop)

  const check = async (request: EndpointRequest, presented: PresentedToken, seen: AuditContext) => {
    const { scheme } = presented
    const refuse = (reason: string): never => access.refuse(scheme, reason)
    const token = (await accessTokenVerifier.identify(presented.token)) ?? refuse('not a valid access token')
    const { claims, clientId, subject, jti, grantId, signIn, access: granted } = token
    seen.claimedClientId = clientId
    if (!strings(claims['aud']).some((name) => audiences.includes(name))) refuse('token for another audience')
    const proof = await checkSender(request, presented, claims['cnf'])
    if (await isTokenOver(revocations, { jti, grantId, signIn, access: granted })) refuse('revoked')
    const client = await clients.findEnabled(clientId)
    if (client === undefined) return refuse('the client is gone or disabled')
    seen.client = client
    access.checkAlgorithm(client, proof)
    seen.sub = subject
    const scope = typeof claims['scope'] === 'string' ? claims['scope'].split(' ') : []
    if (!scope.includes('openid'))
      throw new OAuthError('insufficient_scope', 'The access token has no openid scope.', {
        headers: challenge(scheme, 'insufficient_scope', ', scope="openid"'),
      })
    const unmet = checkAuthentication(options.requires, claims, epochSeconds(clock))
    if (unmet !== undefined)
      throw new OAuthError('insufficient_user_authentication', unmet.description, {
        headers: challenge(scheme, 'insufficient_user_authentication', unmet.parameters),
      })
    // A token without a sign-in cannot have ended with one.
    const account =
      (signIn && accounts.peek?.(subject)) ??
      (await accounts.find(subject, request.signal)) ??
      refuse('the account is gone or disabled')
    return { client, account, scope, requested: strings(claims['userinfo_claims']), jti, proof }
  }

  const answer: Handler = async (request) => {
    const auditContext = { request_id: request.requestId }
    const seen: AuditContext = {}
    let signed: Awaited<ReturnType<TokenIssuer['signUserinfo']>> | undefined
    const signatures = () => signed && { signatures: [{ ...signed.record }] }
    try {
      const { client, account, scope, requested, jti, proof } = await check(request, readToken(request), seen)
      const claims = tokens.userinfo(client, account, scope, requested)
      const alg: JwsAlg | undefined = client.userinfo_signed_response_alg
      if (alg !== undefined) signed = await tokens.signUserinfo(client, alg, claims, request.signal)
      // Claimed after signing, so that an outage of the signer leaves the proof unused.
      await proof?.claim()
      await audit.record({
        event: 'userinfo.released',
        ...auditContext,
        client_id: client.client_id,
        sub: account.subject,
        jti,
        claims: Object.keys(claims).filter((name) => !signed?.dropped.includes(name)),
        claims_dropped: signed?.dropped.length ? signed.dropped : undefined,
        ...signatures(),
      })
      if (signed === undefined) return json(200, claims, proof?.headers)
      const headers = { 'Content-Type': 'application/jwt', 'Cache-Control': 'no-store', Pragma: 'no-cache' }
      return { status: 200, headers: { ...headers, ...proof?.headers }, body: signed.token }
    } catch (error) {
      // Signatures are logged even if they were sent to nobody.
      if (error instanceof OAuthError)
        await refusals.record(request, {
          event: 'userinfo.refused',
          why: error,
          ...seen,
          auditFields: { ...signatures() },
        })
      else if (signed) await audit.record({ event: 'userinfo.refused', ...auditContext, ...outage, ...signatures() })
      throw error
    }
  }

  return async (request) => {
    const headers = { 'x-fapi-interaction-id': interactionIdOf(request) }
    try {
      const reply = await answer(request)
      return { ...reply, headers: { ...reply.headers, ...headers } }
    } catch (error) {
      throw error instanceof OAuthError ? withDetails(error, { headers: { ...error.headers, ...headers } }) : error
    }
  }
}
