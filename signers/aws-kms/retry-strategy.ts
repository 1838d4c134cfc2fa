import type { KMSClientConfig } from '@aws-sdk/client-kms'

type RetryStrategy = Exclude<KMSClientConfig['retryStrategy'], undefined | { readonly retry: unknown }>

/** Four attempts of which 30 % are throttled fail together once in 123. */
export const attempts = 4
/** Milliseconds before the second attempt at most; each further wait doubles. */
const waits = { THROTTLING: 100, TRANSIENT: 25 } as const

/**
 * When the SDK tries again: as its own strategy what is throttled or passing, but with waits that fit into a deadline of
 * two seconds, where its own one waits up to a second before the second attempt and two before the third. Full jitter.
 */
export const retryStrategy: RetryStrategy = {
  acquireInitialRetryToken: async () => token(0, 0),
  async refreshRetryTokenForRetry(used, { errorType, error }) {
    if (errorType !== 'THROTTLING' && errorType !== 'TRANSIENT') throw new Error('Not retryable', { cause: error })
    const count = used.getRetryCount() + 1
    if (count >= attempts) throw new Error('No attempts left', { cause: error })
    return token(count, Math.random() * waits[errorType] * 2 ** (count - 1))
  },
  recordSuccess: () => {},
}

const token = (count: number, delay: number) => ({ getRetryCount: () => count, getRetryDelay: () => delay })
