import { createEndPage, type SignedByKeyOptions } from '../collections/signed-by-key.js'
import { endSigned } from '../keys/slots/end-signed.js'
import type { Log } from '../observe/log.js'
import { Unavailable } from '../unavailable.js'
import type { SlotSource } from './slot-source.js'

export interface EndSignedWatch extends SignedByKeyOptions {
  readonly slots: Pick<SlotSource, 'records'>
  readonly log: Log
}

/** Ends what withdrawn keys have signed, until nothing is left or the signal aborts. Never throws. */
export const createEndSigned = (watch: EndSignedWatch): ((signal: AbortSignal) => Promise<void>) => {
  const { slots, kept, audit, log } = watch
  const endPage = createEndPage(watch)
  let failing = false
  const over = async (slot: string, { kid, ending: { people, attestations } }: Parameters<typeof endPage>[0]) => {
    await audit.record({ event: 'slot.signatures_ended', slot, kid, people, attestations })
    log.warn('What a compromised key signed has ended', { slot, kid, people, attestations })
  }
  return async (signal) => {
    try {
      await endSigned({ store: kept.keySlots, endPage, over }, slots.records.values(), signal)
      failing = false
    } catch (error) {
      // Readiness reports outages, so one log line is enough here.
      if (!failing)
        log.error('What a key signed could not be ended yet', {}, error instanceof Unavailable ? undefined : error)
      failing = true
    }
  }
}
