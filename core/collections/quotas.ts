import type { Clock } from '../clock.js'
import type { Metrics } from '../observe/metrics.js'
import type { CounterStore, EphemeralBackend } from '../storage/ports.js'
import { createQuota, type Quota } from '../storage/quotas.js'
import { Unavailable } from '../unavailable.js'

/**
 * The classes of short-lived entries: the store they are in, and the largest part of it that they may take. Together
 * they leave a fifth of a store that serves both roles to records, and a third of one that is only ephemeral to
 * entries without a quota.
 */
const classes = {
  // Anyone who knows a client_id can leave entries here. They are the largest, and none is worth more than a new try.
  requests: { role: 'ephemeral', part: 0.15 },
  // These are like requests, but smaller: two entries for each device that waits.
  device_codes: { role: 'records', part: 0.05 },
  // Requests that clients have pushed, or that wait for a person. Their senders have authenticated, or are limited by
  // address.
  pushed_requests: { role: 'records', part: 0.05 },
  // Self-registered clients that have never been used.
  registrations: { role: 'records', part: 0.02 },
  // Enrolments that wait for a person, who looks through a few hundred at the most.
  approvals: { role: 'records', part: 0.03 },
  // Challenges are issued only to those who showed a second factor or an attestation.
  challenges: { role: 'ephemeral', part: 0.07 },
  // The sessions of people who have signed in, for two weeks each.
  sessions: { role: 'ephemeral', part: 0.15 },
  // A proof or assertion for each request of known clients. When this class is full, no tokens are issued.
  replay: { role: 'ephemeral', part: 0.2 },
  // A few small counters for each address and name, which limit everything else.
  counters: { role: 'ephemeral', part: 0.08 },
} as const

export type QuotaName = keyof typeof classes

export type Quotas = Readonly<Record<QuotaName, Quota>>

const exchangeMs = 1_000
/** A process that writes nothing reads what others have written only once in this many exchanges. */
const idleExchanges = 10

interface Backends {
  readonly records: EphemeralBackend
  readonly ephemeral: EphemeralBackend
}

/** The states in which processes share their counts of entries. Each store holds the state of its own entries. */
const statesOf = (backend: Pick<EphemeralBackend, 'counters'>): CounterStore => backend.counters('shares')

/** Adds the place where quotas are kept to the schemas of the stores. */
export const openQuotaStates = ({ records, ephemeral }: Backends): void => {
  statesOf(records)
  statesOf(ephemeral)
}

/** Watches the quotas of this process until it is disposed of. It does not keep the process alive. */
export const openQuotas = (stores: Backends, clock: Clock): { readonly shares: Quotas } & AsyncDisposable => {
  const entries = Object.entries(classes).map(([name, { role, part }]): [string, Quota] => {
    const { room } = stores[role]
    const states = statesOf(stores[role])
    return [name, createQuota({ name, part, room, states, clock, component: `storage.${role}` })]
  })
  const all = entries.map(([, share]) => share)
  const exchange = async (share: Quota): Promise<void> => {
    try {
      await share.sync()
    } catch (error) {
      // The last total counts until there is another one.
      if (!(error instanceof Unavailable)) throw error
    }
  }
  let ticks = 0
  let exchanging: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    const isTurn = ticks++ % idleExchanges === 0
    exchanging = Promise.all(all.filter((share) => isTurn || share.hasUnsent()).map(exchange))
  }, exchangeMs).unref()

  return {
    shares: Object.fromEntries(entries) as Quotas,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await exchanging
      await Promise.all(all.filter((share) => share.hasUnsent()).map(exchange))
    },
  }
}

/** Reports how full each quota is. */
export const observeQuotas = (metrics: Metrics, shares: Quotas): void => {
  const gauge = (name: string, help: string, member: 'bytes' | 'limit'): void =>
    metrics.observe({
      type: 'gauge',
      name,
      help,
      labels: ['share'],
      read: () =>
        Object.values(shares).map((share: Quota) => ({ labels: { share: share.name }, value: share.read()[member] })),
    })
  gauge('signet_store_share_bytes', 'Bytes that the short-lived entries of a class use in their store.', 'bytes')
  gauge('signet_store_share_limit_bytes', 'Bytes that they may use.', 'limit')
}
