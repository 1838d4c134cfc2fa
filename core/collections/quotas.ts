import type { Clock } from '../clock.js'
import type { Metrics } from '../observe/metrics.js'
import type { CounterStore, EphemeralBackend } from '../storage/ports.js'
import { createQuota, type Quota } from '../storage/quotas.js'
import { Unavailable } from '../unavailable.js'

/**
 * The classes of short-lived entries: where they are, and what part of that store they may take at the most. Together they leave
 * a fifth of a store that serves both roles to records, and a third of one that is ephemeral alone to what nobody counted.
 */
const classes = {
  // Anyone who knows a client_id leaves them here: the largest entries, of which none is worth more than a new try.
  requests: { role: 'ephemeral', part: 0.15 },
  // As requests, and smaller: two entries for each device that waits.
  device_codes: { role: 'records', part: 0.05 },
  // Requests that clients have pushed, or wait for a person: of those that have proved who they are, or as few for an address.
  pushed_requests: { role: 'records', part: 0.05 },
  // Clients that anybody may have registered, and nobody has used so far.
  registrations: { role: 'records', part: 0.02 },
  // Enrolments that wait for a person. A person looks through a few hundred at the most.
  approvals: { role: 'records', part: 0.03 },
  // Only those who showed a second factor or an attestation get one.
  challenges: { role: 'ephemeral', part: 0.07 },
  // People who have signed in, for two weeks each.
  sessions: { role: 'ephemeral', part: 0.15 },
  // A proof or assertion for each request of clients that are known. Where they are refused nobody gets a token.
  replay: { role: 'ephemeral', part: 0.2 },
  // A few for each address and name. Small, and what bounds all else.
  counters: { role: 'ephemeral', part: 0.08 },
} as const

export type QuotaName = keyof typeof classes

export type Quotas = Readonly<Record<QuotaName, Quota>>

const exchangeMs = 1_000
/** A process that writes nothing looks as seldom as this what others have written. */
const idleExchanges = 10

interface Backends {
  readonly records: EphemeralBackend
  readonly ephemeral: EphemeralBackend
}

/** What processes know of each other's entries; in each store what is in it. */
const statesOf = (backend: Pick<EphemeralBackend, 'counters'>): CounterStore => backend.counters('shares')

/** Makes the schemas of the stores know where shares are kept. */
export const openQuotaStates = ({ records, ephemeral }: Backends): void => {
  statesOf(records)
  statesOf(ephemeral)
}

/** Watches the shares of this process until it is disposed of, and keeps no process alive. */
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
  let underway: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    const isTurn = ticks++ % idleExchanges === 0
    underway = Promise.all(all.filter((share) => isTurn || share.hasNews()).map(exchange))
  }, exchangeMs).unref()

  return {
    shares: Object.fromEntries(entries) as Quotas,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await underway
      await Promise.all(all.filter((share) => share.hasNews()).map(exchange))
    },
  }
}

/** Tells how full each share is. */
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
