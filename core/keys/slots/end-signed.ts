import { isDeepStrictEqual } from 'node:util'
import type { RecordStore } from '../../storage/ports.js'
import { withoutEnding, type SignedEnd, type SlotKey, type SlotRecord } from './slot.js'

/** A withdrawn key with the progress of ending what it signed. */
export interface EndingKey extends SlotKey {
  readonly ending: SignedEnd
}

export interface EndSignedOptions {
  readonly store: RecordStore<SlotRecord>
  /** Ends the next page, and returns the progress. It may be repeated. Throws `Unavailable`. */
  readonly endPage: (key: EndingKey) => Promise<SignedEnd>
  /** Records that nothing is left. Throws `Unavailable`, and is called again then. */
  readonly over: (slot: string, key: EndingKey) => Promise<void>
}

const isEnding = (key: SlotKey): key is EndingKey => key.ending !== undefined

/**
 * Writes progress only if nobody else has, so that of several replicas one goes on. It needs no lease: a page that two
 * of them have ended has ended.
 */
const save = (
  store: RecordStore<SlotRecord>,
  slot: string,
  { number, ending }: EndingKey,
  next: SignedEnd | undefined,
): Promise<boolean> =>
  store.update(slot, (current) => {
    const key = current?.keys.find((one) => one.number === number)
    if (current === undefined || key === undefined || !isDeepStrictEqual(key.ending, ending)) return { result: false }
    const changed: SlotKey = next === undefined ? withoutEnding(key) : { ...key, ending: next }
    const keys = current.keys.map((one) => (one === key ? changed : one))
    return { result: true, write: { record: { ...current, keys } } }
  })

/**
 * Ends what the withdrawn keys of these slots have signed, from where an earlier call or another replica stopped.
 * Throws `Unavailable`.
 */
export const endSigned = async (
  { store, endPage, over }: EndSignedOptions,
  records: Iterable<SlotRecord>,
  signal: AbortSignal,
): Promise<void> => {
  for (const { slot } of [...records].filter(({ keys }) => keys.some(isEnding))) {
    const found = (await store.find(slot))?.keys.filter(isEnding) ?? []
    for (let key of found) {
      while (key.ending.stage !== 'over' && !signal.aborted) {
        const ending = await endPage(key)
        if (!(await save(store, slot, key, ending))) return
        key = { ...key, ending }
      }
      if (signal.aborted) return
      await over(slot, key)
      await save(store, slot, key, undefined)
    }
  }
}
