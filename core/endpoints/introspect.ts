import { epochSeconds, type Clock } from '../clock.js'
import type { AccountLookup } from '../oauth/subjects/account.js'
import type { JsonObject } from '../json.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { ClientAuthentication } from '../oauth/clients/client-authentication.js'
import { isFapi } from '../oauth/clients/security-profile.js'
import { isPublicClient, type Client, type ClientDirectory } from '../oauth/clients/client.js'
import { OAuthError } from '../oauth/errors.js'
import { isGrantOver, isTokenOver } from '../oauth/grants/access-end.js'
import type { Subjects } from '../oauth/subjects/subjects.js'
import type { AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'
import type { RevocationStore } from '../storage/ports.js'
import type { IdentifiedAccessToken } from '../tokens/access-token-verifier.js'
import type { IdentifiedRefreshToken, IdentifyToken } from '../tokens/identify-token.js'
import type { TokenIssuer } from '../tokens/issuer.js'
import type { Declaration } from './endpoint.js'
import { jsonText } from './message.js'
import type { RecordedHandler } from './refusals.js'
import { clientAuthentication, encryptionOf } from './supported.js'
import { readTokenQuestion } from './token-question.js'

export interface IntrospectionOptions {
  readonly issuer: string
  readonly authenticateClient: ClientAuthentication
  readonly identify: IdentifyToken
  readonly clients: Pick<ClientDirectory, 'findEnabled'>
  /** Absent if nobody signs in. */
  readonly accounts?: AccountLookup | undefined
  readonly revocations: RevocationStore
  readonly subjects: Subjects
  readonly tokens: TokenIssuer
  /** The default algorithm of signed answers. */
  readonly signingAlg: JwsAlg
  /** Whether clients with `fapi2` only get signed answers (FAPI 2.0 Message Signing §5.5). */
  readonly signForFapi: boolean
  /** Algorithms with a key. */
  readonly signingAlgs: () => readonly JwsAlg[]
  readonly audit: AuditLog
  readonly log: Log
  readonly clock: Clock
}

const mediaType = 'application/token-introspection+jwt'

/** RFC 9701 §4. */
const wantsJwt = (accept = ''): boolean =>
  accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return type === mediaType && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })

/** The members of an answer, and their serialised form. */
interface Answer {
  readonly members: JsonObject
  readonly text: string
}

const answerOf = (members: JsonObject): Answer => ({ members, text: JSON.stringify(members) })
const inactive = answerOf({ active: false })

/** Claims of access tokens that are only for this server. */
const internalClaims = { userinfo_claims: undefined, sealed_sub: undefined }

/** RFC 7662 §4: the token was issued to this client, or is for it or for a resource server that it is. */
const mayIntrospect = (client: Client, { claims, clientId }: IdentifiedAccessToken): boolean => {
  if (clientId === client.client_id) return true
  const { aud } = claims
  const audience: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  return audience.some(
    (name) =>
      typeof name === 'string' &&
      (name === client.client_id || client.introspection_audiences?.includes(name) === true),
  )
}

/**
 * `POST /introspect` (RFC 7662, signed answers by RFC 9701). The client never learns why a token is inactive; the log
 * does, at `debug`.
 */
export const introspectionEndpoint = {
  path: '/introspect',
  methods: ['POST'],
  body: 'form',
  limit: { byAddress: 'introspect', byRefusals: true },
  refusedEvent: 'introspection.refused',
  discovery: (supported) => ({
    introspection_endpoint: `${supported.issuer}/introspect`,
    ...clientAuthentication(
      'introspection',
      supported,
      supported.clientAuthMethods.filter((method) => method !== 'none'),
    ),
    introspection_signing_alg_values_supported: supported.introspectionAlgs(),
    ...encryptionOf('introspection'),
  }),
} as const satisfies Declaration

export const createIntrospectionEndpoint = (options: IntrospectionOptions): RecordedHandler => {
  const { issuer, authenticateClient, identify, clients, accounts, revocations, tokens, audit, log } = options
  /** The answer for an access token is the same as long as it is cached; this saves 3 of 44 µs. */
  const answers = new WeakMap<IdentifiedAccessToken, Answer>()

  const activeAnswer = (token: IdentifiedAccessToken): Answer => {
    const before = answers.get(token)
    if (before !== undefined) return before
    const token_type = isDpopBound(token.claims['cnf']) ? 'DPoP' : 'Bearer'
    const answer = answerOf({ ...token.claims, ...internalClaims, active: true, token_type })
    answers.set(token, answer)
    return answer
  }

  /** No token of a deleted account is active. */
  const isPresent = async (subject: string, signal: AbortSignal): Promise<boolean> =>
    (accounts?.peek?.(subject) ?? (await accounts?.find(subject, signal))) !== undefined

  /** The answer, or the reason there is none. */
  const describeAccessToken = async (caller: Client, token: IdentifiedAccessToken, signal: AbortSignal) => {
    const { claims, clientId, subject, expiresAt } = token
    if (!mayIntrospect(caller, token)) return 'it is not for this client'
    // The tolerance is for differing clocks; no token is reported as active after its own `exp`.
    if (epochSeconds(options.clock) >= expiresAt) return 'it has expired'
    if (await isTokenOver(revocations, token)) return 'it was revoked'
    if ((await clients.findEnabled(clientId)) === undefined) return 'its client is gone or disabled'
    if (claims['auth_time'] !== undefined && !(await isPresent(subject, signal))) return 'its person is gone'
    return activeAnswer(token)
  }

  const describeRefreshToken = async (caller: Client, token: IdentifiedRefreshToken, signal: AbortSignal) => {
    const { grant, current } = token
    if (!current) return 'it was used'
    if (grant.clientId !== caller.client_id) return 'it is not for this client'
    const { subject, scope, resource, authentication, authorizationDetails, constraint } = grant
    if (await isGrantOver(revocations, { ...grant, authTime: authentication.auth_time })) return 'it was revoked'
    if (!(await isPresent(subject, signal))) return 'its person is gone'
    return answerOf({
      active: true,
      iss: issuer,
      sub: options.subjects.seenBy(caller, subject),
      client_id: grant.clientId,
      aud: resource.length === 1 ? resource[0] : resource,
      scope: scope.join(' '),
      auth_time: authentication.auth_time,
      acr: authentication.acr,
      authorization_details: authorizationDetails,
      cnf: constraint && { ...constraint },
    })
  }

  const describe = async (caller: Client, text: string, signal: AbortSignal): Promise<Answer> => {
    const token = await identify(text)
    const described =
      token?.kind === 'access_token'
        ? await describeAccessToken(caller, token, signal)
        : token && (await describeRefreshToken(caller, token, signal))
    if (typeof described === 'object') return described
    // Contains neither the token nor any of its claims.
    const reason = described ?? 'it is unknown, malformed or has expired'
    log.debug('A token is not active for the client that asks', { client_id: caller.client_id, reason })
    return inactive
  }

  return async (request, seen) => {
    const { client, token } = await readTokenQuestion(request, authenticateClient, seen, introspectionEndpoint.path)
    if (isPublicClient(client))
      throw new OAuthError('invalid_client', 'Client authentication failed.', { reason: 'a public client' })
    const answer = await describe(client, token, request.signal)
    if (!wantsJwt(request.header('accept')) && !(options.signForFapi && isFapi(client)))
      return jsonText(200, answer.text)
    const alg = client.introspection_signed_response_alg ?? options.signingAlg
    if (!options.signingAlgs().includes(alg))
      throw new OAuthError('invalid_request', 'Signed answers are not available.', { status: 406 })
    const signed = await tokens.signIntrospection(client, alg, answer.members, request.signal)
    await audit.record({
      event: 'introspection.signed',
      request_id: request.requestId,
      client_id: client.client_id,
      active: answer.members['active'],
      jti: answer.members['jti'],
      signatures: [{ ...signed.record }],
    })
    const headers = { 'Content-Type': mediaType, 'Cache-Control': 'no-store', Pragma: 'no-cache' }
    return { status: 200, headers, body: signed.token }
  }
}

const isDpopBound = (confirmation: unknown): boolean =>
  typeof confirmation === 'object' && confirmation !== null && 'jkt' in confirmation
