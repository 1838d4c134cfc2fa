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

/** How many ids one process remembers in one minute; those that come then are not counted. */
const mostRemembered = 100_000

/** Of one address in a minute. */
export interface MostRefused {
  readonly requests: number
  readonly chains: number
}

/** Does a request bring certificates that anybody may have made? */
const bringsCertificates = (request: EndpointRequest): boolean =>
  request.header('oauth-client-attestation') !== undefined || request.clientCertificate() !== undefined

export interface RateLimits {
  /** The endpoint, for so many requests a minute from one IPv4 address, or one /64 of IPv6. */
  byAddress(name: string, perMinute: number, endpoint: Handler): Handler
  /**
   * The authentication, for so many requests a minute of one client that has proved who it is: a public one has not, and
   * would be at anybody's mercy.
   */
  byClient(name: string, perMinute: number, authenticate: ClientAuthentication): ClientAuthentication
  /**
   * The endpoint, for an address of which no more than so many requests in this minute were refused as nobody's, and, where the
   * request brings certificates, no more chains of these. Of both each process knows its own. Throws before anything is read
   * of the request.
   */
  byRefusals(most: MostRefused, endpoint: Handler): Handler
  /** Counts a request that was refused as nobody's, `isOfChain`: for its certificates. Gets an address bucket. */
  countRefusal(bucket: string | undefined, isOfChain: boolean): void
  /** Requests that were refused, by limit. */
  readonly hits: Counts
}

/**
 * Limits that all processes share (`MinuteShares`). What is over a limit gets 429; past its own tenth a process whose store
 * is down answers 503 (F01).
 */
export const createRateLimits = (attempts: AttemptLimiter, clock: Clock): RateLimits => {
  const hits = new Counts('limit')
  const shares = createMinuteShares({ attempts, clock, namespace: 'requests', mostRemembered, beyond: 'pass' })
  /** What was refused as nobody's, by address bucket. */
  const refused = new MinuteMap<{ requests: number; chains: number }>(mostRemembered)

  const refuse = (name: string): never => {
    hits.of(name).value++
    // Callers refused in one minute come back in the next, but not all at its beginning (F36).
    const seconds = Math.ceil(secondsToNextMinute(clock) + Math.random() * 5)
    throw new OAuthError('temporarily_unavailable', said('too_many_requests'), {
      status: 429,
      reason: 'too many requests',
      headers: { 'Retry-After': String(seconds) },
    })
  }

  /** Undefined, at once, for nearly every request. */
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
      // Nearly always nobody is known, and nothing else is looked at.
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
