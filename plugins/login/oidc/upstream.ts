import { randomUUID } from 'node:crypto'
import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  clockSkew,
  clockTolerance,
  Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  getJwksCache,
  setJwksCache,
  type ClientAuth,
  type CustomFetch,
  type ServerMetadata,
} from 'openid-client'
import { epochSeconds, Unavailable, type Services } from '../../../core/api/index.js'
import type { UpstreamOptions } from './options.js'

export type UpstreamServices = Pick<Services, 'clock' | 'log' | 'outbound' | 'signedRequests' | 'clockToleranceSeconds'>

/**
 * Milliseconds that the provider's metadata are used. After a failure, no caller waits for another attempt for a
 * moment.
 */
const metadataMs = 3_600_000
const retryMs = 5_000
const assertionSeconds = 60
/**
 * The client fetches the set again for an unknown key if it is older than this. Only what the provider itself sends
 * causes that, so it does so at once.
 */
const unknownKeySeconds = 60

/** The provider's current state. */
export interface Upstream {
  /** For the calls of one attempt, which end with `signal`. Throws `Unavailable` when discovery fails. */
  connect(signal: AbortSignal): Promise<Configuration>
  /** Call afterwards, so that the next attempt need not fetch the keys again. */
  remember(used: Configuration): void
}

const emptyStatuses = [204, 205, 304]

/** An outage stays an outage, whichever layer of the client reports it. */
export const findOutage = (error: unknown): Unavailable | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof Unavailable) return cause
  return undefined
}

const failing = (status: number): boolean => status >= 500 || status === 429

const createFetch =
  ({ outbound }: UpstreamServices, signal: AbortSignal): CustomFetch =>
  async (url, { method, headers, body }) => {
    const text = body instanceof URLSearchParams ? body.toString() : body
    if (text !== undefined && text !== null && typeof text !== 'string') throw new TypeError('the body is not text')
    const answer = await outbound.request(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: { ...headers },
      signal,
      ...(typeof text === 'string' && { body: Buffer.from(text) }),
    })
    if (failing(answer.status))
      throw new Unavailable('sign-in', 'unknown', `The provider answered with status ${String(answer.status)}`)
    const content = emptyStatuses.includes(answer.status) ? null : Buffer.from(answer.bytes)
    return new Response(content, { status: answer.status, headers: answer.headers })
  }

export const createUpstream = (options: UpstreamOptions, services: UpstreamServices): Upstream => {
  const { clock, log, signedRequests } = services
  const issuer = new URL(options.issuer)
  const method = options.token_endpoint_auth_method ?? 'client_secret_basic'

  /** RFC 7523 §2.2, with a key of ours that may be in an HSM. */
  const assertionBy = (signal: AbortSignal) => async (as: ServerMetadata, _: unknown, body: URLSearchParams) => {
    const now = epochSeconds(clock)
    const id = options.client_id
    const times = { iat: now, nbf: now, exp: now + assertionSeconds }
    const claims = { iss: id, sub: id, aud: as.issuer, jti: randomUUID(), ...times }
    const more = { by: options.id, alg: options.client_assertion_signing_alg, signal }
    body.set('client_id', id)
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    body.set('client_assertion', await signedRequests.sign('client_authentication', claims, more))
  }

  const authenticationBy = (signal: AbortSignal): ClientAuth => {
    if (method === 'private_key_jwt') {
      // The client awaits it, although its type does not say so.
      const authentication: (...of: Parameters<ClientAuth>) => unknown = assertionBy(signal)
      return authentication
    }
    return method === 'client_secret_post'
      ? ClientSecretPost(options.client_secret)
      : ClientSecretBasic(options.client_secret)
  }

  let metadata: { readonly server: ServerMetadata; readonly at: number } | undefined
  let failedAt = -Infinity
  let pending: Promise<ServerMetadata> | undefined
  let keys: ReturnType<typeof getJwksCache>

  const within = (at: number, milliseconds: number): boolean => clock() >= at && clock() - at < milliseconds

  /** Not bound to the first caller's signal, because others wait for the same answer. */
  const discover = async (): Promise<ServerMetadata> => {
    try {
      const found = await discovery(issuer, options.client_id, undefined, undefined, {
        [customFetch]: createFetch(services, AbortSignal.timeout(2500)),
        ...(issuer.protocol === 'http:' && { execute: [allowInsecureRequests] }),
      })
      const server = found.serverMetadata()
      metadata = { server, at: clock() }
      return server
    } catch (error) {
      failedAt = clock()
      const reason = (findOutage(error) ?? (error as Error)).message
      log.warn('an OpenID Provider cannot be discovered', { method: options.id, issuer: options.issuer, reason })
      if (metadata !== undefined) return metadata.server
      throw new Unavailable('sign-in', 'no', 'The OpenID Provider cannot be discovered', { cause: error })
    } finally {
      pending = undefined
    }
  }

  const find = async (): Promise<ServerMetadata> => {
    if (metadata !== undefined && within(metadata.at, metadataMs)) return metadata.server
    if (pending === undefined && within(failedAt, retryMs)) {
      if (metadata !== undefined) return metadata.server
      throw new Unavailable('sign-in', 'no', 'The OpenID Provider could not be discovered a moment ago')
    }
    pending ??= discover()
    return pending
  }

  return {
    async connect(signal) {
      const server = await find()
      signal.throwIfAborted()
      const client = {
        [clockSkew]: Math.round((clock() - Date.now()) / 1000),
        [clockTolerance]: services.clockToleranceSeconds,
        ...(options.id_token_signing_alg !== undefined && {
          id_token_signed_response_alg: options.id_token_signing_alg,
        }),
      }
      const config = new Configuration(server, options.client_id, client, authenticationBy(signal))
      config[customFetch] = createFetch(services, signal)
      if (issuer.protocol === 'http:') allowInsecureRequests(config)
      // The ID token's signature is verified even though it came over TLS, because the key must be the provider's.
      enableNonRepudiationChecks(config)
      if (keys !== undefined) setJwksCache(config, keys)
      return config
    },
    remember(used) {
      const now = getJwksCache(used)
      if (now !== undefined && now.uat !== keys?.uat) keys = { jwks: now.jwks, uat: now.uat - unknownKeySeconds }
    },
  }
}
