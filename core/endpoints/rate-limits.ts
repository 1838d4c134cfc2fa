import type { Clock } from '../clock.js'
import { addressBucket } from '../address-bucket.js'
import { MinuteMap } from '../limits/minute-map.js'
import { createMinuteShares, minuteOf, secondsToNextMinute } from '../limits/minute-shares.js'
import type { ClientAuthentication } from '../oauth/clients/client-authentication.js'
import { isPublicClient } from '../oauth/clients/client.js'
import { OAuthError } from '../oauth/errors.js'
import { said } from '../oauth/said.js'
import { Counts } from '../observe/counts.js'
import type { AttemptLimiter } from '../storage/ports.js'
import type { EndpointRequest, Handler } from './message.js'

/** Ids that one process remembers in a minute. Further ones are not counted. */
const maxRemembered = 100_000

/** Limits per address and minute. */
export interface MostRefused {
  readonly requests: number
  readonly chains: number
}

/** Whether a request contains certificates that anyone could have made. */
const bringsCertificates = (request: EndpointRequest): boolean =>
  request.header('oauth-client-attestation') !== undefined || request.clientCertificate() !== undefined

export interface RateLimits {
  /** Wraps an endpoint with a limit of requests per minute from one IPv4 address or IPv6 /64. */
  byAddress(name: string, perMinute: number, endpoint: Handler): Handler
  /**
   * Wraps authentication with a limit of requests per minute for one authenticated client. A public client is not
   * limited, because anyone could use up its quota.
   */
  byClient(name: string, perMinute: number, authenticate: ClientAuthentication): ClientAuthentication
  /**
   * Wraps an endpoint to turn away an address whose anonymous refusals, and, for requests with certificates, refused
   * chains, exceed a limit in this minute. Each process counts separately. Throws before anything of the request is
   * read.
   */
  byRefusals(most: MostRefused, endpoint: Handler): Handler
  /** Counts an anonymous refusal; `isOfChain` if for its certificates. `bucket` is an address bucket. */
  countRefusal(bucket: string | undefined, isOfChain: boolean): void
  /** Refused requests by limit. */
  readonly hits: Counts
}

/**
 * Limits shared by all processes (`MinuteShares`). A request over a limit gets 429; a process whose store is down
 * answers 503 beyond its own tenth (F01).
 */
export const createRateLimits = (attempts: AttemptLimiter, clock: Clock): RateLimits => {
  const hits = new Counts('limit')
  const shares = createMinuteShares({ attempts, clock, namespace: 'requests', maxRemembered, beyond: 'pass' })
  /** Anonymous refusals by address bucket. */
  const refused = new MinuteMap<{ requests: number; chains: number }>(maxRemembered)

  const refuse = (name: string): never => {
    hits.of(name).value++
    // Callers refused in one minute return in the next, but not all at its start (F36).
    const seconds = Math.ceil(secondsToNextMinute(clock) + Math.random() * 5)
    throw new OAuthError('temporarily_unavailable', said('too_many_requests'), {
      status: 429,
      reason: 'too many requests',
      headers: { 'Retry-After': String(seconds) },
    })
  }

  /** Nearly every request gets undefined synchronously. */
  const take = (name: string, who: string, perMinute: number): Promise<void> | undefined => {
    const taken = shares.take(`${name} ${who}`, perMinute)
    if (taken === true) return undefined
    if (taken === false) return refuse(name)
    return taken.then((isWithin) => (isWithin ? undefined : refuse(name)))
  }

  return {
    hits,
    byAddress: (name, perMinute, endpoint) => (request) => {
      const bucket = addressBucket(request.address)
      const waiting = bucket === undefined ? undefined : take(`${name}_address`, bucket, perMinute)
      return waiting === undefined ? endpoint(request) : waiting.then(() => endpoint(request))
    },
    byRefusals: (most, endpoint) => (request) => {
      // The map is nearly always empty, and then nothing else is checked.
      if (refused.size > 0) {
        refused.enter(minuteOf(clock))
        const bucket = addressBucket(request.address)
        const before = bucket === undefined ? undefined : refused.get(bucket)
        if (before !== undefined && before.requests >= most.requests) refuse('refused_address')
        if (before !== undefined && before.chains >= most.chains && bringsCertificates(request))
          refuse('refused_chains')
      }
      return endpoint(request)
    },
    countRefusal(bucket, isOfChain) {
      if (bucket === undefined) return
      refused.enter(minuteOf(clock))
      const before = refused.get(bucket) ?? { requests: 0, chains: 0 }
      before.requests++
      if (isOfChain) before.chains++
      refused.set(bucket, before)
    },
    byClient: (name, perMinute, authenticate) => async (request, signal) => {
      const authenticated = await authenticate(request, signal)
      const { client } = authenticated
      if (!isPublicClient(client)) await take(`${name}_client`, client.client_id, perMinute)
      return authenticated
    },
  }
}
