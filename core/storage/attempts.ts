import type { AttemptLimiter, AttemptPolicy, CounterStep, CounterStore } from './ports.js'

/** What a store remembers about guesses at one secret. */
export interface Attempts {
  readonly count: number
  /** When the last guess was counted, in milliseconds since the epoch. */
  readonly last: number
  /** When the guess before it was counted. `last` returns to this when the guess is given back. */
  readonly previous?: number
}

type Taken = Awaited<ReturnType<AttemptLimiter['take']>>

const delayAfter = (count: number, policy: AttemptPolicy): number => {
  const over = count - policy.free
  return over < 1 ? 0 : Math.min(policy.baseDelaySeconds * 2 ** Math.min(over - 1, 52), policy.maxDelaySeconds)
}

const forgetAt = ({ count, last }: Attempts, policy: AttemptPolicy): number =>
  last + Math.max(policy.forgetAfterSeconds, delayAfter(count, policy)) * 1000

/** Implements `AttemptLimiter.take`. */
export const nextAttempt = (
  before: Attempts | undefined,
  policy: AttemptPolicy,
  now: number,
): CounterStep<Attempts, Taken> => {
  // A caller may use a shorter policy than the stored one.
  const known = before !== undefined && now < forgetAt(before, policy) ? before : undefined
  if (known !== undefined) {
    const delay = delayAfter(known.count, policy) * 1000
    // Setting the clock back must not lengthen the delay.
    const wait = Math.min(known.last + delay - now, delay)
    if (wait > 0) return { result: { allowed: false, retryAfterSeconds: Math.ceil(wait / 1000) } }
  }
  const state = { count: (known?.count ?? 0) + 1, last: now, ...(known && { previous: known.last }) }
  return { result: { allowed: true, retryAfterSeconds: 0 }, write: { state, forgetAt: forgetAt(state, policy) } }
}

/** Implements `AttemptLimiter.giveBack`. */
const withoutLast = (
  before: Attempts | undefined,
  now: number,
  forgetAt: number | undefined,
): CounterStep<Attempts, void> => {
  if (before === undefined || forgetAt === undefined) return { result: undefined }
  const { count, last, previous = last } = before
  const earlier = forgetAt - (last - previous)
  if (count <= 1 || earlier <= now) return { result: undefined, write: null }
  return { result: undefined, write: { state: { count: count - 1, last: previous }, forgetAt: earlier } }
}

/** Counts guesses in the counters of any store. */
export const createAttemptLimiter = (counters: CounterStore): AttemptLimiter => ({
  take: (namespace, id, policy) =>
    counters.update<Attempts, Taken>(namespace, id, (before, now) => nextAttempt(before, policy, now)),
  clear: (namespace, id) =>
    counters.update(namespace, id, (current) =>
      current === undefined ? { result: undefined } : { result: undefined, write: null },
    ),
  giveBack: (namespace, id) => counters.update<Attempts, void>(namespace, id, withoutLast),
})
