import { addressBucket } from '../../address-bucket.js'
import { RecentMap } from '../../recent-map.js'
import type { AttemptLimiter, AttemptPolicy } from '../../storage/ports.js'
import { OAuthError } from '../errors.js'

/**
 * Machines with an old secret keep trying. The wait is at most a minute, so that they work soon after getting the new
 * one.
 */
const policy: AttemptPolicy = { free: 10, baseDelaySeconds: 1, maxDelaySeconds: 60, forgetAfterSeconds: 3600 }

/** At least half of this number is remembered. If an entry was dropped, each process allows one more guess. */
const maxRemembered = 20_000

/** Slows down guesses at the secret of one client from one address. */
export interface SecretGuesses {
  /**
   * Runs `authenticate`, which throws `invalid_client` for a wrong secret. After failures from this address, all
   * processes together run it no more often than the policy allows; otherwise it throws `temporarily_unavailable`
   * (429, `Retry-After`), whatever the secret. Throws `Unavailable`.
   */
  slowDown<T>(clientId: string, address: string, authenticate: () => Promise<T>): Promise<T>
}

/**
 * A client and an address without a recent failure need no call to the store: only the memory of this process is
 * read.
 */
export const createSecretGuesses = (attempts: AttemptLimiter): SecretGuesses => {
  const failed = new RecentMap<string, 'failed'>(maxRemembered)

  const take = async (id: string): Promise<void> => {
    const { allowed, retryAfterSeconds } = await attempts.take('client_secret', id, policy)
    if (allowed) return
    throw new OAuthError('temporarily_unavailable', 'Too many requests.', {
      status: 429,
      reason: 'too many wrong client secrets',
      headers: { 'Retry-After': String(retryAfterSeconds) },
    })
  }

  /** The guess is counted before the check, so that parallel guesses are counted too. */
  const authenticateCounted = async <T>(id: string, authenticate: () => Promise<T>): Promise<T> => {
    await take(id)
    const authenticated = await authenticate()
    failed.delete(id)
    await attempts.clear('client_secret', id)
    return authenticated
  }

  const authenticateUncounted = async <T>(
    clientId: string,
    address: string,
    authenticate: () => Promise<T>,
  ): Promise<T> => {
    try {
      return await authenticate()
    } catch (error) {
      const id = idOf(clientId, address)
      if (id === undefined || !(error instanceof OAuthError) || error.code !== 'invalid_client') throw error
      failed.set(id, 'failed')
      await take(id)
      throw error
    }
  }

  return {
    slowDown(clientId, address, authenticate) {
      // There is nearly always no failure, and then nothing else is looked up.
      const id = failed.isEmpty ? undefined : idOf(clientId, address)
      if (id === undefined || failed.get(id) === undefined)
        return authenticateUncounted(clientId, address, authenticate)
      return authenticateCounted(id, authenticate)
    },
  }
}

const idOf = (clientId: string, address: string): string | undefined => {
  const bucket = addressBucket(address)
  return bucket === undefined ? undefined : `${bucket} ${clientId}`
}
