import { checkMembers, kinds } from '../wire/options.js'
import { KeyObject } from 'node:crypto'
import { isOfType } from '../wire/media-type.js'
import { isTime } from '../wire/request-claims.js'
import { createCertificateFetch, type CertificateIdentity } from './certificate-fetch.js'
import { createClientAssertions, type ClientKey } from './client-assertion.js'
import { fetchText, isSafeUrl, type Fetch } from './fetch-text.js'
import { isObject, readCompact, parseServed } from './jws.js'
import type { KeySets } from './key-sets.js'
import { TokenRefused } from './token-refusal.js'

/**
 * Where to ask whether a token was revoked, and as which client (RFC 7662 §2.1). The client authenticates with one of
 * `clientSecret` (`client_secret_basic`), `privateKey` (`private_key_jwt`) and `certificate` (mutual TLS, RFC 8705).
 */
export interface IntrospectionOptions {
  /** With a certificate, the endpoint in `mtls_endpoint_aliases`. */
  readonly endpoint: string
  readonly clientId: string
  readonly clientSecret?: string
  readonly privateKey?: ClientKey
  readonly certificate?: CertificateIdentity
  /** The issuer of the endpoint. Required when an API trusts several issuers. */
  readonly issuer?: string
}

export interface IntrospectionServices {
  readonly issuers: readonly string[]
  readonly keySets: KeySets
  readonly fetch: Fetch
  /** Seconds. */
  readonly skew: number
}

const mostBytes = 65_536
/** Seconds that a signed answer is valid after its `iat`, since it answers this query only. */
const maxAge = 60

/** RFC 6749 §2.3.1. */
const formEncode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

type Authentication = (now: number) => {
  readonly headers?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
}

const authenticationBy = (options: IntrospectionOptions, issuer: string): Authentication => {
  const { clientId, clientSecret, privateKey } = options
  if (clientSecret !== undefined) {
    const credentials = Buffer.from(`${formEncode(clientId)}:${formEncode(clientSecret)}`).toString('base64')
    const headers = { authorization: `Basic ${credentials}` }
    return () => ({ headers })
  }
  if (privateKey === undefined) return () => ({ form: { client_id: clientId } })
  const newAssertion = createClientAssertions(clientId, issuer, privateKey)
  return (now) => ({ form: { client_assertion_type: assertionType, client_assertion: newAssertion(now) } })
}

const clientKey = {
  key: (value: unknown) => kinds.name(value) || (value instanceof KeyObject && value.type === 'private'),
  kid: kinds.name,
}
const identity = { cert: kinds.name, key: kinds.name, ca: kinds.name }

/** Throws a `TypeError` for invalid options. Returns the issuer of the endpoint. */
const checkOptions = (options: IntrospectionOptions, issuers: readonly string[]): string => {
  checkMembers(
    'introspection',
    options,
    {
      ...{ endpoint: kinds.name, clientId: kinds.name, clientSecret: kinds.name, issuer: kinds.name },
      ...{ privateKey: kinds.object, certificate: kinds.object },
    },
    ['endpoint', 'clientId'],
  )
  if (options.privateKey) checkMembers('introspection.privateKey', options.privateKey, clientKey, ['key'])
  if (options.certificate) checkMembers('introspection.certificate', options.certificate, identity, ['cert', 'key'])
  const { endpoint, clientSecret, privateKey, certificate, issuer = issuers[0] } = options
  if (!isSafeUrl(endpoint)) throw new TypeError('introspection.endpoint is not a URL with https')
  if ([clientSecret, privateKey, certificate].filter((one) => one !== undefined).length !== 1)
    throw new TypeError('introspection needs one of clientSecret, privateKey and certificate')
  if (certificate && !endpoint.startsWith('https:')) throw new TypeError('introspection.certificate needs https')
  if (options.issuer === undefined && issuers.length > 1 && clientSecret === undefined)
    throw new TypeError('introspection.issuer is needed beside several issuers')
  if (issuer === undefined || !issuers.includes(issuer)) throw new TypeError('introspection.issuer is not trusted')
  return issuer
}

/** Queries each token. Throws `token_revoked`, and `introspection_unavailable` for any answer that is not valid. */
export const createIntrospection = (options: IntrospectionOptions, services: IntrospectionServices) => {
  const issuer = checkOptions(options, services.issuers)
  const { endpoint, clientId, certificate } = options
  const { keySets, skew } = services
  const authenticate = authenticationBy(options, issuer)
  const fetcher = certificate ? createCertificateFetch(certificate) : services.fetch

  /** `active` of a signed answer (RFC 9701 §5), which must be recent, from this issuer and for this API. */
  const readSigned = async (text: string, now: number): Promise<unknown> => {
    const { header, payload, input, signature } = readCompact(text)
    const { iss, aud, iat, token_introspection: answer } = payload
    const key = await keySets.find(issuer, String(header['kid']))
    const isRight = isOfType(header['typ'], 'token-introspection+jwt') && key.verifies(header['alg'], input, signature)
    const isForUs = iss === issuer && (Array.isArray(aud) ? aud : [aud]).includes(clientId)
    if (!isRight || !isForUs || !isTime(iat) || iat > now + skew || iat < now - skew - maxAge) return undefined
    return isObject(answer) ? answer['active'] : undefined
  }

  const ask = async (token: string, now: number): Promise<unknown> => {
    const { headers: more, form } = authenticate(now)
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded', ...more }
    const body = new URLSearchParams({ token, token_type_hint: 'access_token', ...form }).toString()
    try {
      const text = await fetchText(fetcher, endpoint, { method: 'POST', headers, body }, mostBytes)
      if (!text.trimStart().startsWith('{')) return await readSigned(text.trim(), now)
      return parseServed(text)['active']
    } catch (cause) {
      throw new TokenRefused('introspection_unavailable', cause)
    }
  }

  /** `now` is in seconds since the epoch. */
  return async (token: string, now: number): Promise<void> => {
    const active = await ask(token, now)
    if (active === false) throw new TokenRefused('token_revoked')
    if (active !== true) throw new TokenRefused('introspection_unavailable')
  }
}
