import type { RecordStore } from '../../storage/ports.js'

const id = 'pairwise_key'

interface PairwiseKey {
  /** The store that remembers the key's fingerprint. */
  readonly secrets: RecordStore<string>
  /** Undefined: the configuration has no key. */
  readonly fingerprint: string | undefined
  /** The operator intends that every pairwise subject changes. */
  readonly replaced: boolean
}

/** A refused key would change every pairwise subject. */
export type PairwiseKeyReconciliation =
  { readonly outcome: 'kept' | 'replaced' } | { readonly outcome: 'refused'; readonly reason: string }

const remedy = 'put the old one back, or see pairwise_key_replaced'

/** Compares the key with the previous one, and remembers it if that is allowed. Throws `Unavailable`. */
export const reconcilePairwiseKey = async ({
  secrets,
  fingerprint,
  replaced,
}: PairwiseKey): Promise<PairwiseKeyReconciliation> => {
  const before = await secrets.find(id)
  if (before === fingerprint) return { outcome: 'kept' }
  if (before === undefined && fingerprint !== undefined) {
    if (await secrets.put(id, fingerprint, { onlyIfAbsent: true })) return { outcome: 'kept' }
    // Another replica wrote first.
    return reconcilePairwiseKey({ secrets, fingerprint, replaced })
  }
  if (!replaced) {
    const what = fingerprint === undefined ? 'is missing' : 'is another one than before'
    return { outcome: 'refused', reason: `${what}, and every pairwise subject would change: ${remedy}` }
  }
  if (fingerprint === undefined) await secrets.remove(id)
  else await secrets.put(id, fingerprint)
  return { outcome: 'replaced' }
}

/**
 * Tells commands, which change nothing, whether this is the key that the deployment was started with. Throws
 * `Unavailable`.
 */
export const comparePairwiseKey = async ({
  secrets,
  fingerprint,
}: Pick<PairwiseKey, 'secrets' | 'fingerprint'>): Promise<'new' | 'same' | 'another'> => {
  const before = await secrets.find(id)
  if (before === undefined) return 'new'
  return before === fingerprint ? 'same' : 'another'
}
