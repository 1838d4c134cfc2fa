/** A key in a backend, for as long as it is there. Times are milliseconds since the epoch, and may be infinite. */
export interface KeySpan {
  readonly signer: string
  /** Whether Signet is going to make and prove it. */
  readonly expected: boolean
  readonly made_at: number
  readonly removed_at: number
  /** When it begins to sign, if it was waiting. */
  readonly begins: number
  /** Until then it is probed. */
  readonly ends: number
}

/** What one signer holds and is asked in one month (UTC). The first month begins now. */
export interface MonthlyLoad {
  /** `2026-12` */
  readonly month: string
  readonly signer: string
  /** The most keys at a time. */
  readonly keys: number
  readonly new_keys: number
  readonly probes: number
  /** Signatures with which new keys are proved: ten each, and one more before they sign. */
  readonly proofs: number
}

const proofsPerKey = 10

/** The beginnings of `count` months, from `now` on, and the end of the last one. */
export const monthsFrom = (now: number, count: number): readonly number[] => {
  const date = new Date(now)
  const begin = (index: number): number => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + index, 1)
  return [now, ...Array.from({ length: count }, (_, index) => begin(index + 1))]
}

/** Counts the load of each signer in each month. `probeMs`: milliseconds between two probes of a key. Pure. */
export const countMonths = (
  spans: readonly KeySpan[],
  bounds: readonly number[],
  probeMs: (signer: string) => number,
  processes: number,
): readonly MonthlyLoad[] =>
  bounds.slice(0, -1).flatMap((from, index) => {
    const until = bounds[index + 1] ?? from
    const isWithin = (time: number): boolean => time >= from && time < until
    return [...new Set(spans.map(({ signer }) => signer))].map((signer): MonthlyLoad => {
      const own = spans.filter((span) => span.signer === signer)
      const held = own.filter(({ made_at, removed_at }) => made_at < until && removed_at > from)
      // The number of keys grows only when one is made.
      const most = [from, ...held.map(({ made_at }) => made_at).filter(isWithin)].map(
        (at) => held.filter(({ made_at, removed_at }) => made_at <= at && removed_at > at).length,
      )
      const fresh = own.filter(({ expected, made_at }) => expected && isWithin(made_at))
      const switches = own.filter(({ begins }) => isWithin(begins) && begins > from)
      const probed = own.reduce(
        (sum, { made_at, ends }) => sum + Math.max(0, Math.min(until, ends) - Math.max(from, made_at)),
        0,
      )
      return {
        month: new Date(from).toISOString().slice(0, 7),
        signer,
        keys: Math.max(...most),
        new_keys: fresh.length,
        probes: Math.round(probed / probeMs(signer)) * processes,
        proofs: fresh.length * proofsPerKey + switches.length,
      }
    })
  })
