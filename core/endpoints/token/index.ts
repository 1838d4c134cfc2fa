import type { SignaturePriority } from '../../keys/ports.js'
import type { DpopProof } from '../../oauth/dpop.js'
import type { GrantDecision } from '../../oauth/grants/grant.js'
import type { RegisteredClients } from '../../oauth/registration/registered-clients.js'
import { isOffline } from '../../oauth/requests/scope.js'
import type { AuditLog } from '../../observe/audit.js'
import type { PreparedTokens, SignedTokens, TokenIssuer } from '../../tokens/issuer.js'
import type { Redeem } from '../../tokens/redeem.js'
import type { Declaration } from '../endpoint.js'
import { json, type Reply } from '../message.js'
import type { RecordedHandler } from '../refusals.js'
import { clientAttestation, clientAuthentication } from '../supported.js'
import { createDecide, withGrant, type DecideOptions } from './decide.js'
import { createReadTokenRequest, type TokenRequest, type TokenRequestOptions } from './request.js'
import { TokenAudit } from './token-audit.js'

export interface TokenOptions extends TokenRequestOptions, DecideOptions {
  readonly tokens: TokenIssuer
  readonly redeem: Redeem
  readonly noteUse: RegisteredClients['noteUse']
  readonly audit: AuditLog
}

/** `POST /token` (RFC 6749 §3.2), from the form to the answer in order. */
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
  const { grants, tokens, redeem, noteUse, audit } = options
  const readRequest = createReadTokenRequest(options)
  const decide = createDecide(options)

  const wantsRefresh = (decision: GrantDecision, prepared: PreparedTokens): boolean =>
    decision.refresh === true &&
    decision.authentication !== undefined &&
    isOffline({ ...decision.grant, scope: prepared.scope }) &&
    prepared.client.grant_types.includes('refresh_token') &&
    grants.has('refresh_token')

  /** Signs first, then consumes the grant, and answers with both results. */
  const issue = async (request: TokenRequest, decision: GrantDecision, prepared: PreparedTokens): Promise<Reply> => {
    const { requestId, signal, client, method, handler, proof } = request
    const refresh = wantsRefresh(decision, prepared)
    const settled = refresh ? withGrant(decision, prepared, request) : decision
    const { subject: sub, jti } = prepared
    const tokenAudit = new TokenAudit(audit, { request_id: requestId, client_id: client.client_id, sub, jti })
    try {
      const signed = await tokens.sign(prepared, priorityOf(decision), signal, tokenAudit.signatures)
      // The signature is recorded before the code is consumed, so that one that cannot be recorded consumes nothing
      // (F34).
      if (decision.redeem !== undefined) await tokenAudit.signed()
      await proof?.claim()
      const refreshToken = await redeem({ client, requestId, signal }, settled, refresh)
      await tokenAudit.issued({
        grant_type: handler.grantType,
        client_auth_method: method,
        grant_id: settled.grant?.grantId ?? decision.grantId,
        ...describe(prepared, signed),
        pairwise_sub: prepared.pairwiseSubject,
        refresh_token: refresh,
        jkt: proof?.jkt,
        instance_jkt: request.instanceJkt,
        'x5t#S256': request.constraint?.['x5t#S256'],
      })
      // A self-registered client counts as unused until its first token.
      if (client.registration?.unused_until !== undefined) await noteUse(client, decision.authentication !== undefined)
      return respond(decision, prepared, signed, refreshToken, proof)
    } catch (error) {
      await tokenAudit.refused()
      throw error
    }
  }

  return async (http, seen) => {
    const request = await readRequest(http, seen)
    const { decision, account } = await decide(request)
    return issue(request, decision, tokens.prepare(request.client, decision, account, request.constraint))
  }
}

/** People waiting for a sign-in go first. */
const priorityOf = ({ authentication, redeem }: GrantDecision): SignaturePriority => {
  if (authentication === undefined) return 'machine'
  return redeem?.kind === 'refresh_token' ? 'refresh' : 'sign_in'
}

/** Describes the issued tokens without any secret. */
const describe = ({ audience, scope, expiresAt, dropped }: PreparedTokens, { idToken }: SignedTokens) => ({
  aud: audience,
  scope: scope.join(' '),
  exp: expiresAt,
  id_token: idToken !== undefined,
  claims_dropped: dropped.length > 0 ? dropped : undefined,
})

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
