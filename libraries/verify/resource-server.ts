import { checkMembers, kinds } from '../wire/options.js'
import type { IncomingMessage } from 'node:http'
import { createAccessTokenReader, type AccessToken, type Confirmation } from './access-token.js'
import { certificateThumbprint, connectionThumbprint } from './client-certificate.js'
import { readCredentials, type Credentials } from './credentials.js'
import { createDpopNonces } from './dpop-nonce.js'
import { createDpopProofs, type UsedProof } from './dpop-proof.js'
import type { Fetch } from './fetch-text.js'
import { createIntrospection, type IntrospectionOptions } from './introspection.js'
import { proofAlgorithms } from './issuer-key.js'
import { checkIssuers, createKeySets, type TrustedIssuer } from './key-sets.js'
import { readMessage, tokenHeaders, type Given, type Message } from './message.js'
import { originOf } from './origin.js'
import { outage } from './refusal.js'
import { memoryReplayGuard, type ReplayGuard } from './replay.js'
import { checkRequirements, challengeParameters, type Requirements } from './requirements.js'
import { answerOf, TokenRefused } from './token-refusal.js'

export interface ResourceServerOptions {
  readonly issuers: readonly TrustedIssuer[]
  /** The identifier of this API: the `aud` of tokens, and the `resource` that clients ask for. */
  readonly audience: string
  /**
   * Where clients reach this API, since DPoP proofs are bound to it. Default: the origin of `audience`. It is never
   * taken from the request.
   */
  readonly origin?: string
  /** Remembers DPoP proofs. Default: in this process only; give a guard that several processes share. */
  readonly replay?: ReplayGuard
  /** If set, DPoP proofs need a nonce. At least 32 bytes, the same for all processes of this API. */
  readonly dpopNonceSecret?: string | Uint8Array
  /**
   * The client's certificate (DER) when TLS ends in front of this process. Read it from the request only if your own
   * proxy set it. Default: the certificate of the connection.
   */
  readonly clientCertificate?: (request: IncomingMessage | Request) => Uint8Array | undefined
  /** If set, the issuer is asked at every request whether the token was revoked. */
  readonly introspection?: IntrospectionOptions
  /** Seconds by which the clocks of issuer, client and API may differ. Default 30. */
  readonly clockSkewSeconds?: number
  /** Seconds for which keys of an unreachable issuer are still used. Default: four hours. */
  readonly staleKeysSeconds?: number
  /** Milliseconds since the epoch. */
  readonly clock?: () => number
  readonly fetch?: Fetch
}

/** Who calls, and with which permissions. */
export interface VerifiedAccessToken extends AccessToken {
  /** Whether the client has proved a key or a certificate. If it has not, anyone who has the token is accepted. */
  readonly confirmation: 'dpop' | 'certificate' | 'dpop and certificate' | undefined
  /** Headers for every answer: the next `DPoP-Nonce`. The adapters set them. */
  readonly headers: Readonly<Record<string, string>>
}

export interface AccessTokenChecker {
  /** Rejects with `VerificationError`, whose `answer` is for the client. Does not read the body. */
  check(request: IncomingMessage | Request, given?: Given): Promise<VerifiedAccessToken>
}

export interface ResourceServer {
  /** A checker for requests with these requirements. Throws a `TypeError` for invalid ones. */
  requireAccessToken(requirements?: Requirements): AccessTokenChecker
}

const members = {
  ...{ issuers: kinds.list, audience: kinds.name, origin: kinds.text, replay: kinds.withMethods('claim') },
  ...{
    dpopNonceSecret: (value: unknown) => kinds.text(value) || kinds.bytes(value),
    clientCertificate: kinds.call,
    introspection: kinds.object,
  },
  ...{ clockSkewSeconds: kinds.number, staleKeysSeconds: kinds.amount, clock: kinds.call, fetch: kinds.call },
}

/**
 * Checks access tokens for an API (RFC 9068, RFC 6750, RFC 9449 §7, RFC 8705 §3, RFC 9470). Throws a `TypeError` for
 * invalid options.
 */
export const createResourceServer = (options: ResourceServerOptions): ResourceServer => {
  checkMembers('options', options, members, ['issuers', 'audience'])
  const { issuers, audience, clock = Date.now, clockSkewSeconds: skew = 30, introspection } = options
  if (!(skew >= 0 && skew <= 300)) throw new TypeError('clockSkewSeconds is between 0 and 300')
  checkIssuers(issuers)
  const origin = originOf(audience, options.origin)
  if (origin === undefined) throw new TypeError('audience is not a URL: state the origin')
  if (options.dpopNonceSecret !== undefined && Buffer.byteLength(options.dpopNonceSecret) < 32)
    throw new TypeError('dpopNonceSecret is shorter than 32 bytes')

  const fetcher = options.fetch ?? ((url, init) => fetch(url, init))
  const staleFor = (options.staleKeysSeconds ?? 14_400) * 1000
  const keySets = createKeySets({ issuers, fetch: fetcher, clock, staleFor })
  const readAccessToken = createAccessTokenReader({ keySets, audience, skew })
  const checkProof = createDpopProofs(skew)
  const nonces = options.dpopNonceSecret === undefined ? undefined : createDpopNonces(options.dpopNonceSecret, clock)
  const replay = options.replay ?? memoryReplayGuard({ clock })
  const trusted = issuers.map((one) => (typeof one === 'string' ? one : one.issuer))
  const introspect =
    introspection && createIntrospection(introspection, { issuers: trusted, keySets, fetch: fetcher, skew })

  const thumbprintOf = (request: IncomingMessage | Request): string | undefined => {
    if (!options.clientCertificate) return connectionThumbprint(request)
    const der = options.clientCertificate(request)
    if (der === undefined) return undefined
    if (!kinds.bytes(der)) throw new TypeError('clientCertificate gave something else than bytes')
    return certificateThumbprint(der)
  }
  const checkCertificate = (request: IncomingMessage | Request, expected: string): void => {
    const shown = thumbprintOf(request)
    if (shown === undefined) throw new TokenRefused('missing_certificate')
    if (shown !== expected) throw new TokenRefused('certificate_mismatch')
  }
  const checkDpop = (
    { method, target, headers }: Message,
    { scheme, text }: Credentials,
    jkt: string | undefined,
    now: number,
  ): UsedProof | undefined => {
    if ((scheme === 'DPoP') !== (jkt !== undefined)) throw new TokenRefused('wrong_scheme')
    if (jkt === undefined) return undefined
    const acceptsNonce = nonces?.accepts ?? (() => true)
    const url = `${origin}${target}`
    return checkProof({ proof: headers.get('dpop'), method, url, accessToken: text, jkt, now, acceptsNonce })
  }

  const check = async (
    request: IncomingMessage | Request,
    message: Message,
    sent: Credentials,
    needed: Requirements,
  ) => {
    const now = clock() / 1000
    const { token, bound } = await readAccessToken(sent.text, now)
    const proof = checkDpop(message, sent, bound.jkt, now)
    if (bound.certificate !== undefined) checkCertificate(request, bound.certificate)
    checkRequirements(token, needed, now)
    await introspect?.(sent.text, now)
    if (proof) {
      const isNew = await outage('replay_guard_unavailable', () => replay.claim(proof.id, proof.until))
      if (isNew !== true) throw new TokenRefused('replay_detected')
    }
    return { ...token, confirmation: confirmationOf(bound) }
  }

  return {
    requireAccessToken(needed = {}) {
      const parameters = challengeParameters(needed)
      return {
        async check(request, given) {
          let scheme: Credentials['scheme'] | undefined
          const nonce = nonces?.current()
          try {
            const message = readMessage(request, tokenHeaders, given)
            const sent = readCredentials(message)
            ;({ scheme } = sent)
            const found = await check(request, message, sent, needed)
            return { ...found, headers: nonce === undefined ? {} : { 'dpop-nonce': nonce } }
          } catch (error) {
            throw answerOf(error, { scheme, algs: proofAlgorithms, nonce, ...parameters })
          }
        },
      }
    },
  }
}

const confirmationOf = ({ jkt, certificate }: Confirmation): VerifiedAccessToken['confirmation'] => {
  if (jkt === undefined) return certificate === undefined ? undefined : 'certificate'
  return certificate === undefined ? 'dpop' : 'dpop and certificate'
}
