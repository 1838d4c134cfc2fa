import { findTimeFault, isJti, isNumericDate, type TimeRules } from '../../jose/claim-times.js'
import { parseCompactJws } from '../../jose/compact-jws.js'
import { readJwtHeader } from '../../jose/jwt-header.js'
import { isSignedByAny } from '../../jose/verify-signature.js'
import type { JsonObject, JsonValue } from '../../json.js'
import { epochSeconds } from '../../clock.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { EphemeralReplayGuard } from '../../storage/ports.js'
import type { ClientKeys } from '../clients/client-keys.js'
import type { Client } from '../clients/client.js'
import { OAuthError } from '../errors.js'
import { acceptedAlgorithms, isFapi } from '../clients/security-profile.js'
import { listParameters, type ParameterList } from './params.js'
import type { RegisteredRequests } from './registered-requests.js'

export interface RequestObjectOptions extends TimeRules {
  /** `backchannel`: the rules of OpenID CIBA Core §7.1.1, with every claim that it names, and no `request_uri`. */
  readonly kind: 'authorization' | 'backchannel'
  readonly issuer: string
  readonly clientKeys: ClientKeys
  /** Every request must be a request object. */
  readonly required: boolean
  /** Every request of a client with `fapi2` must be a request object (FAPI 2.0 Message Signing §5.3). */
  readonly requiredForFapi: boolean
  /** The ids of used objects. If present, each object is accepted once. */
  readonly used?: EphemeralReplayGuard | undefined
  /** Absent: `request_uri` is not fetched. */
  readonly registered?: RegisteredRequests | undefined
}

/** The maximum lifetime in seconds for a client that must sign its requests (FAPI 2.0 Message Signing §5.3). */
const longest = 3600

/** RFC 9101 §10.8 recommends explicit typing; it is checked if the client uses it. */
const types: readonly unknown[] = [undefined, 'JWT', 'oauth-authz-req+jwt']

/** OpenID CIBA Core §13 has no error of its own for request objects. */
const codes = { authorization: 'invalid_request_object', backchannel: 'invalid_request' } as const

type Refuse = (reason: string) => never

const refuseBy =
  (kind: RequestObjectOptions['kind']): Refuse =>
  (reason) => {
    throw new OAuthError(codes[kind], 'The request object is invalid.', { reason: `request object: ${reason}` })
  }

/**
 * Checks the client, the audience and the times (RFC 9101 §6.3). Claims that are present must be right, and
 * `isStrict` requires them.
 */
const findClaimFault = (claims: JsonObject, client: Client, rules: RequestObjectOptions, isStrict: boolean) => {
  const { client_id, iss, aud, exp, nbf, iat, jti } = claims
  const isBackchannel = rules.kind === 'backchannel'
  if (client_id !== client.client_id && !(isBackchannel && client_id === undefined))
    return 'client_id is not the client'
  if (iss !== undefined && iss !== client.client_id) return 'iss is not the client'
  const audience: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (aud !== undefined && !audience.includes(rules.issuer)) return 'aud is not this server'
  if ('request' in claims || 'request_uri' in claims) return 'it contains another one'
  const fault = findTimeFault({ exp: Number.MAX_SAFE_INTEGER, ...claims }, rules)
  if (fault !== undefined || !isStrict) return fault
  if (iss === undefined || aud === undefined) return 'iss or aud is missing'
  if (!isNumericDate(exp) || !isNumericDate(nbf)) return 'exp or nbf is missing'
  if (isBackchannel && (!isNumericDate(iat) || !isJti(jti))) return 'iat or jti is missing'
  // Since `exp` is in the future, this also limits the age of `nbf`.
  return exp - nbf > longest ? 'exp is too far after nbf' : undefined
}

/** Returns the id of this object, and how long any replica could accept it. */
const useOf = ({ exp, nbf, jti }: JsonObject, { clock, toleranceSeconds }: TimeRules) => ({
  // The prefix keeps these ids apart from those of client assertions.
  id: hashOpaqueToken(JSON.stringify(['request object', jti])),
  ttlSeconds: Math.max(1, Math.ceil(Number(exp)) + 2 * toleranceSeconds - epochSeconds(clock)),
  earliest: Math.floor((Number(nbf) - 2 * toleranceSeconds) * 1000),
})

/** Claims of the JWT that are not parameters. */
const ofTheJwt: ReadonlySet<string> = new Set(['iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'sub'])

/**
 * Returns a parameter as it would be in a form. In the object `max_age` may be a number, `claims` an object and
 * `resource` a list.
 */
const textsOf = (name: string, value: JsonValue | undefined, refuse: Refuse): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (name === 'resource' && Array.isArray(value))
    return value.flatMap((member: JsonValue) => textsOf(name, member, refuse))
  if (typeof value === 'object' && value !== null) return [JSON.stringify(value)]
  return refuse('a parameter is neither text nor a number, nor JSON')
}

/**
 * Returns the object, sent or fetched. Only one of the two parameters may be present, and only once (RFC 9101 §5).
 * Undefined: there is no object.
 */
const findText = async (sent: ParameterList, client: Client, registered: RegisteredRequests | undefined) => {
  const [text, uri] = [sent.values.get('request'), registered && sent.values.get('request_uri')]
  for (const name of ['request', 'request_uri'])
    if (sent.repeated.has(name)) throw new OAuthError('invalid_request', `The parameter ${name} was sent twice.`)
  if (uri === undefined) return text
  if (text !== undefined) throw new OAuthError('invalid_request', 'Send request or request_uri, not both.')
  return registered?.fetch(uri, client)
}

/** The parameters that take effect. */
export interface OpenedRequest extends ParameterList {
  /**
   * Uses up the id of the object, once everything else is valid (OpenID CIBA Core §7.1.1). Absent: the object has no
   * id to be used up. Throws `invalid_request` for an id that was used, and `Unavailable`.
   */
  claim?(): Promise<void>
}

/** The parameters of authorization requests, from a signed object (RFC 9101, OIDC Core §6.1) or as they were sent. */
export interface RequestObjects {
  /**
   * Returns the parameters that take effect: if there is an object, only its own, after its signature was verified.
   * Throws `invalid_request_object` (`invalid_request` for `backchannel`), `invalid_request_uri`, `invalid_request`
   * when an object is required and missing, and `Unavailable`.
   */
  open(sent: ParameterList, client: Client): Promise<OpenedRequest>
}

export const createRequestObjects = (options: RequestObjectOptions): RequestObjects => ({
  async open(sent, client) {
    const { kind } = options
    const isBackchannel = kind === 'backchannel'
    const refuse: Refuse = refuseBy(kind)
    const isRequired =
      options.required ||
      (options.requiredForFapi && isFapi(client)) ||
      (isBackchannel
        ? client.backchannel_authentication_request_signing_alg !== undefined
        : client.require_signed_request_object === true)
    const text = await findText(sent, client, options.registered)
    if (text === undefined && !isRequired) return sent
    if (text === undefined)
      throw new OAuthError('invalid_request', 'This application must sign its requests (RFC 9101).')
    const jws = parseCompactJws(text) ?? refuse('malformed')
    const wanted = readJwtHeader(jws.header, {
      types,
      alg: isBackchannel ? client.backchannel_authentication_request_signing_alg : client.request_object_signing_alg,
      accepted: acceptedAlgorithms(client),
    })
    if (typeof wanted === 'string') return refuse(wanted)
    const fault = findClaimFault(jws.payload, client, options, isRequired || isBackchannel || isFapi(client))
    if (fault !== undefined) refuse(fault)
    const keys = await options.clientKeys.find(client, wanted)
    if (keys.length === 0) refuse('no key of the client fits')
    if (!(await isSignedByAny(jws, keys))) refuse('wrong signature')
    const claims = Object.entries(jws.payload).filter(([name]) => !ofTheJwt.has(name))
    const opened = listParameters(
      claims.flatMap(([name, value]) => textsOf(name, value, refuse).map((one) => [name, one] as const)),
    )
    const { used } = options
    if (used === undefined) return opened
    const { id, ttlSeconds, earliest } = useOf(jws.payload, options)
    return {
      ...opened,
      async claim() {
        if (!(await used.claim(client.client_id, id, ttlSeconds, earliest))) refuse('it was used before')
      },
    }
  },
})
