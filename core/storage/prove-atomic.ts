import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.js'
import type { EphemeralBackend, StorageBackend } from './ports.js'

/**
 * Rounds of each step. With a store that reads first and saves afterwards, several callers win in nearly all of them.
 */
const rounds = 4
const callers = 8
/** Entries that no method can remove expire this soon. */
const ttlSeconds = 10
const hourMs = 3_600_000

/** An operation that only one caller may succeed with. */
interface Step<Backend> {
  /** A description that follows a number of callers. */
  readonly what: string
  prepare?(backend: Backend, id: string): Promise<unknown>
  /** Returns true for the winner. */
  attempt(backend: Backend, id: string, caller: number): Promise<boolean>
  remove?(backend: Backend, id: string): Promise<unknown>
}

/** Uses collections that the service has anyway, so that whatever removes expired entries finds these too. */
const ephemeralSteps = (clock: Clock): readonly Step<EphemeralBackend>[] => [
  {
    what: 'redeemed one record',
    prepare: (backend, id) => backend.oneTime('sign_in_attempts').put(id, {}, ttlSeconds),
    attempt: async (backend, id) => (await backend.oneTime('sign_in_attempts').redeem(id)).outcome === 'won',
  },
  {
    what: 'claimed one id',
    // An id from the future, of which nothing can be forgotten.
    attempt: (backend, id) => backend.replayGuard('dpop_proofs').claim('proof', id, ttlSeconds, clock() + hourMs),
  },
  {
    what: 'began one count',
    attempt: (backend, id) =>
      backend.counters('counters').update<number, boolean>('proof', id, (current, now) => {
        if (current !== undefined) return { result: false }
        return { result: true, write: { state: 1, forgetAt: now + ttlSeconds * 1000 } }
      }),
    remove: (backend, id) => backend.counters('counters').update('proof', id, () => ({ result: null, write: null })),
  },
]

const recordSteps = (clock: Clock): readonly Step<StorageBackend>[] => [
  {
    what: 'redeemed one code',
    prepare: (backend, id) => backend.oneTime('codes').put(id, {}, ttlSeconds),
    attempt: async (backend, id) => (await backend.oneTime('codes').redeem(id)).outcome === 'won',
  },
  {
    what: 'rotated one refresh token',
    prepare: (backend, id) => {
      const family = { grant: {}, current: 'first', absoluteExpiry: clock() + ttlSeconds * 1000 }
      return backend.refreshFamilies('refresh_families').start(id, family, ttlSeconds)
    },
    attempt: async (backend, id, caller) => {
      const successor = { hash: `successor ${String(caller)}`, salt: 'salt' }
      const rotation = { presented: 'first', successor, idleTtlSeconds: ttlSeconds }
      return (await backend.refreshFamilies('refresh_families').rotate(id, rotation)).outcome === 'won'
    },
    remove: (backend, id) => backend.refreshFamilies('refresh_families').remove(id),
  },
  {
    what: 'wrote one record as its first',
    attempt: (backend, id) => backend.records('migrations').put(id, {}, { ttlSeconds, onlyIfAbsent: true }),
    remove: (backend, id) => backend.records('migrations').remove(id),
  },
  {
    what: 'changed one state of a record',
    prepare: (backend, id) => backend.records('migrations').put(id, { by: 'nobody' }, { ttlSeconds }),
    attempt: (backend, id, caller) =>
      backend.records<{ by: unknown }>('migrations').update(id, (current, expiresAt) => {
        if (current?.by !== 'nobody') return { result: false }
        return { result: true, write: { record: { by: caller }, expiresAt } }
      }),
    remove: (backend, id) => backend.records('migrations').remove(id),
  },
]

/** Resolves with the number of winners. Throws when one is too few to judge and a caller got no answer. */
const runRound = async <Backend>(
  backends: readonly Backend[],
  first: Backend,
  step: Step<Backend>,
): Promise<number> => {
  const id = `proof-${randomUUID()}`
  try {
    await step.prepare?.(first, id)
    const attempts = Array.from({ length: callers }, (_, caller) =>
      step.attempt(backends[caller % backends.length] ?? first, id, caller),
    )
    const settled = await Promise.allSettled(attempts)
    const winners = settled.filter((one) => one.status === 'fulfilled' && one.value).length
    const failed = settled.find((one) => one.status === 'rejected')
    if (winners < 2 && failed !== undefined) throw failed.reason as Error
    return winners
  } finally {
    await step.remove?.(first, id)
  }
}

const prove = async <Backend>(
  backends: readonly [Backend, ...Backend[]],
  steps: readonly Step<Backend>[],
): Promise<string | undefined> => {
  for (const step of steps)
    for (let round = 0; round < rounds; round++) {
      const winners = await runRound(backends, backends[0], step)
      if (winners > 1)
        return `is not atomic: ${String(winners)} of ${String(callers)} callers ${step.what}, which one alone may do; use a store whose single steps are atomic`
    }
  return undefined
}

/**
 * Lets callers race on each operation that may happen once, over every opening of the store, and removes the results
 * or lets them expire within seconds. Resolves with what is wrong, in words that follow the name of the store. Throws
 * `Unavailable`.
 */
export const proveEphemeral = (
  openings: readonly [EphemeralBackend, ...EphemeralBackend[]],
  clock: Clock,
): Promise<string | undefined> => prove(openings, ephemeralSteps(clock))

/** Like `proveEphemeral`, for the role that holds what must never be lost. */
export const proveRecords = (
  openings: readonly [StorageBackend, ...StorageBackend[]],
  clock: Clock,
): Promise<string | undefined> => prove(openings, recordSteps(clock))
