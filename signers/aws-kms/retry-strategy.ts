import type { KMSClientConfig } from '@aws-sdk/client-kms'

type RetryStrategy = Exclude<KMSClientConfig['retryStrategy'], undefined | { readonly retry: unknown }>

/** With 30 % of attempts throttled, all four fail once in 123 calls. */
const attempts = 4
/** Maximum milliseconds before the second attempt. Each further wait doubles. */
const waits = { THROTTLING: 100, TRANSIENT: 25 } as const

/**
 * Retries what the SDK's own strategy retries (throttling and passing errors), but with waits that fit into a
 * deadline of two seconds; the SDK waits up to one second before the second attempt and two before the third. Full
 * jitter.
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

/** For requests that must not happen twice: KMS has done nothing when it says that there were too many. */
export const onceStrategy: RetryStrategy = {
  ...retryStrategy,
  async refreshRetryTokenForRetry(used, info) {
    if (info.errorType !== 'THROTTLING') throw new Error('Not retryable', { cause: info.error })
    return retryStrategy.refreshRetryTokenForRetry(used, info)
  },
}

const token = (count: number, delay: number) => ({ getRetryCount: () => count, getRetryDelay: () => delay })
