import type { JsonObject } from '../json.js'

/** A configured key, as far as it could be read. */
export interface ConfiguredKey {
  readonly signer: string | undefined
  readonly ref: string | undefined
}

/** The key id or `alias/NAME` contained in any name of the key. Replicas in several regions share their id. */
const trailName = (name: string): string => name.slice(name.lastIndexOf(':') + 1).replace(/^key\//, '')

const namesKey = (ref: string): boolean =>
  ref.includes(':key/') || /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})$/i.test(ref)

export interface TrailKeys {
  /** Adds the keys that a line of our audit log names. */
  learn(line: JsonObject): void
  /** Whether one of these names may be a key of ours. */
  has(names: readonly string[]): boolean
  /** Configured keys whose CloudTrail names are not known yet. Any key may be one of these. */
  unnamed(): readonly string[]
}

/** The CloudTrail names of our keys. For an alias in the configuration, the audit log has the key's ARN. */
export const createTrailKeys = (configured: readonly ConfiguredKey[]): TrailKeys => {
  const nameOf = (signer: unknown, ref: unknown): string => JSON.stringify([signer, ref])
  const known = new Set<string>()
  const unnamed = new Map<string, string>()
  for (const { signer, ref } of configured) {
    if (ref !== undefined) known.add(trailName(ref))
    if (ref === undefined || !namesKey(ref)) unnamed.set(nameOf(signer, ref), ref ?? 'unreadable')
  }
  return {
    learn({ event, signer, ref, key }) {
      if (event !== 'key.proved' || typeof key !== 'string') return
      known.add(trailName(key))
      unnamed.delete(nameOf(signer, ref))
    },
    has: (names) => known.size === 0 || unnamed.size > 0 || names.some((name) => known.has(trailName(name))),
    unnamed: () => [...unnamed.values()],
  }
}
