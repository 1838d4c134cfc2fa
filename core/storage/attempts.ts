import type { AttemptPolicy } from './ports.js'

/** What a store remembers of the guesses at one secret. */
export interface Attempts {
  readonly count: number
  /** When the last one was counted: milliseconds since the epoch. */
  readonly last: number
}

export interface NextAttempt {
  readonly allowed: boolean
  /** Whole seconds; 0 when allowed. */
  readonly retryAfterSeconds: number
  /** What to store now; absent when nothing was counted. */
  readonly attempts?: Attempts
  /** When all is to be forgotten: milliseconds since the epoch. */
  readonly forgetAt: number
}

const delayAfter = (count: number, policy: AttemptPolicy): number => {
  const over = count - policy.free
  return over < 1 ? 0 : Math.min(policy.baseDelaySeconds * 2 ** Math.min(over - 1, 52), policy.maxDelaySeconds)
}

const forgetAt = ({ count, last }: Attempts, policy: AttemptPolicy): number =>
  last + Math.max(policy.forgetAfterSeconds, delayAfter(count, policy)) * 1000

/** The rule of `AttemptLimiter.take`, the same for every adapter; the adapter makes it atomic. */
export const nextAttempt = (before: Attempts | undefined, policy: AttemptPolicy, now: number): NextAttempt => {
  const known = before !== undefined && now < forgetAt(before, policy) ? before : undefined
  if (known !== undefined) {
    const delay = delayAfter(known.count, policy) * 1000
    // A clock that was set back must not lengthen the delay.
    const wait = Math.min(known.last + delay - now, delay)
    if (wait > 0)
      return { allowed: false, retryAfterSeconds: Math.ceil(wait / 1000), forgetAt: forgetAt(known, policy) }
  }
  const attempts = { count: (known?.count ?? 0) + 1, last: now }
  return { allowed: true, retryAfterSeconds: 0, attempts, forgetAt: forgetAt(attempts, policy) }
}
