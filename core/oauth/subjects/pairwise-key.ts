import type { RecordStore } from '../../storage/ports.js'

const id = 'pairwise_key'

interface PairwiseKey {
  /** Where its fingerprint is remembered. */
  readonly secrets: RecordStore<string>
  /** Undefined: the configuration has no key. */
  readonly fingerprint: string | undefined
  /** The operator means that every pairwise subject changes. */
  readonly replaced: boolean
}

/** With what is refused every pairwise subject would be another one. */
export type PairwiseKeyReconciliation =
  { readonly outcome: 'kept' | 'replaced' } | { readonly outcome: 'refused'; readonly reason: string }

const wayOut = 'put the old one back, or see pairwise_key_replaced'

/** Compares the key with the one before, and remembers it where that may be. Throws `Unavailable`. */
export const settlePairwiseKey = async ({
  secrets,
  fingerprint,
  replaced,
}: PairwiseKey): Promise<PairwiseKeyReconciliation> => {
  const before = await secrets.find(id)
  if (before === fingerprint) return { outcome: 'kept' }
  if (before === undefined && fingerprint !== undefined) {
    if (await secrets.put(id, fingerprint, { onlyIfAbsent: true })) return { outcome: 'kept' }
    // Another replica was first.
    return settlePairwiseKey({ secrets, fingerprint, replaced })
  }
  if (!replaced) {
    const what = fingerprint === undefined ? 'is missing' : 'is another one than before'
    return { outcome: 'refused', reason: `${what}, and every pairwise subject would change: ${wayOut}` }
  }
  if (fingerprint === undefined) await secrets.remove(id)
  else await secrets.put(id, fingerprint)
  return { outcome: 'replaced' }
}

/** For commands, which change nothing: is it the key that the deployment has started with? Throws `Unavailable`. */
export const comparePairwiseKey = async ({
  secrets,
  fingerprint,
}: Pick<PairwiseKey, 'secrets' | 'fingerprint'>): Promise<'new' | 'same' | 'another'> => {
  const before = await secrets.find(id)
  if (before === undefined) return 'new'
  return before === fingerprint ? 'same' : 'another'
}
