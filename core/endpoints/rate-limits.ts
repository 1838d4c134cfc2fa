import type { Clock } from '../clock.js'
import { addressBucket } from '../address-bucket.js'
import { minutePolicy } from '../oauth/minute-policy.js'
import type { ClientAuthentication } from '../oauth/client-authentication.js'
import { isPublicClient } from '../oauth/client.js'
import { OAuthError } from '../oauth/errors.js'
import { Counts } from '../observe/counts.js'
import type { AttemptLimiter } from '../storage/ports.js'
import type { Endpoint } from './message.js'

/** Into so many shares a limit is cut, where it is not smaller itself. */
const maxShares = 10
/** How many ids one process remembers in one minute; those that come then are not counted. */
const maxRemembered = 100_000
const windowSeconds = 60

const sharesOf = (perMinute: number): number => Math.min(maxShares, perMinute)

/** What one id has used of this minute in this process. */
interface Used {
  count: number
  allowed: number
  /** A share that is being asked for. */
  asking?: Promise<void> | undefined
  /** The store has no more for this minute. */
  spent: boolean
}

export interface RateLimits {
  /** The endpoint, for so many requests a minute from one IPv4 address, or one /64 of IPv6. */
  byAddress(name: string, perMinute: number, endpoint: Endpoint): Endpoint
  /**
   * The authentication, for so many requests a minute of one client that has proved who it is: a public one has not, and
   * would be at anybody's mercy.
   */
  byClient(name: string, perMinute: number, authenticate: ClientAuthentication): ClientAuthentication
  /**
   * The endpoint, for an address of which no more than so many requests in this minute were refused as nobody's. Of these
   * each process knows its own. Throws before anything is read of the request.
   */
  byRefusals(perMinute: number, endpoint: Endpoint): Endpoint
  /** Counts a request that was refused as nobody's. Gets an address bucket. */
  countRefusal(bucket: string | undefined): void
  /** Requests that were refused, by limit. */
  readonly hits: Counts
}

/**
 * Limits that all processes share. Each lets a tenth pass on its own, without a word to the store; beyond it, each takes
 * from the store what is left by the tenth. So the bound is the limit, and a tenth of it more for each process after the
 * first one. What is over it gets 429; past its own tenth a process whose store is down answers 503 (F01).
 */
export const createRateLimits = (attempts: AttemptLimiter, clock: Clock): RateLimits => {
  const hits = new Counts('limit')
  let used = new Map<string, Used>()
  /** Requests that were refused as nobody's in this minute, by address bucket. */
  let refused = new Map<string, number>()
  let current = NaN

  /** Forgets the minute before. */
  const enterMinute = (now: number): number => {
    const minute = Math.floor(now / windowSeconds)
    if (minute === current) return minute
    used = new Map()
    refused = new Map()
    return (current = minute)
  }

  const refuse = (name: string, now: number): never => {
    hits.of(name).value++
    // Whoever was refused in one minute comes back in the next, but not all at its beginning (F36).
    const seconds = Math.ceil(windowSeconds - (now % windowSeconds) + Math.random() * 5)
    throw new OAuthError('temporarily_unavailable', 'There were too many requests.', {
      status: 429,
      reason: 'too many requests',
      headers: { 'Retry-After': String(seconds) },
    })
  }

  const askShare = async (id: string, minute: number, one: Used, perMinute: number): Promise<void> => {
    const shares = sharesOf(perMinute)
    try {
      // All but the one that each process has on its own.
      const { allowed } = await attempts.take('requests', `${id}.${String(minute)}`, minutePolicy(shares - 1))
      if (allowed) one.allowed += Math.floor(perMinute / shares)
      else one.spent = true
    } finally {
      one.asking = undefined
    }
  }

  const takeShared = async (name: string, id: string, minute: number, one: Used, perMinute: number) => {
    while (one.count >= one.allowed && !one.spent) await (one.asking ??= askShare(id, minute, one, perMinute))
    if (one.count >= one.allowed) refuse(name, clock() / 1000)
    one.count++
  }

  /** Undefined, at once, for nearly every request. */
  const take = (name: string, who: string, perMinute: number): Promise<void> | undefined => {
    const now = clock() / 1000
    const minute = enterMinute(now)
    const id = `${name} ${who}`
    let one = used.get(id)
    if (one === undefined) {
      if (used.size >= maxRemembered) return undefined
      const shares = sharesOf(perMinute)
      one = { count: 0, allowed: Math.floor(perMinute / shares), spent: shares === 1 }
      used.set(id, one)
    }
    if (one.count < one.allowed) {
      one.count++
      return undefined
    }
    return one.spent ? refuse(name, now) : takeShared(name, id, minute, one, perMinute)
  }

  return {
    hits,
    byAddress: (name, perMinute, endpoint) => (request) => {
      const bucket = addressBucket(request.address)
      const waiting = bucket === undefined ? undefined : take(`${name}_address`, bucket, perMinute)
      return waiting === undefined ? endpoint(request) : waiting.then(() => endpoint(request))
    },
    byRefusals: (perMinute, endpoint) => (request) => {
      // Nearly always nobody is known, and nothing else is looked at.
      if (refused.size > 0) {
        const now = clock() / 1000
        enterMinute(now)
        const bucket = addressBucket(request.address)
        if (bucket !== undefined && (refused.get(bucket) ?? 0) >= perMinute) refuse('refused_address', now)
      }
      return endpoint(request)
    },
    countRefusal(bucket) {
      if (bucket === undefined) return
      enterMinute(clock() / 1000)
      const before = refused.get(bucket)
      if (before !== undefined || refused.size < maxRemembered) refused.set(bucket, (before ?? 0) + 1)
    },
    byClient: (name, perMinute, authenticate) => async (request, signal) => {
      const authenticated = await authenticate(request, signal)
      const { client } = authenticated
      if (!isPublicClient(client)) await take(`${name}_client`, client.client_id, perMinute)
      return authenticated
    },
  }
}
