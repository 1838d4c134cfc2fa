import type { Ceremony } from './ceremony.js'
import { DeviceError } from './errors.js'
import type { HeldRecord } from './held-record.js'
import { usedKey, type DeviceKey } from './key.js'
import { failedRecord, isDue, isGood, newRecord, problemOf } from './record.js'
import type { DeviceRecord } from './store.js'

export interface RenewalOptions {
  readonly held: HeldRecord
  readonly ceremony: Pick<Ceremony, 'renew'>
  readonly key?: DeviceKey
  /** Seconds since the epoch. */
  readonly now: () => number
  readonly onRenewalFailed?: (error: DeviceError) => void
}

/** The longest delay of a timer in milliseconds; a longer one fires at once. */
const longestTimer = 2 ** 31 - 1

/** Renews the attestation of a device: when a request needs it, and by a timer before it expires. */
export const createRenewal = ({ held, ceremony, key, now, onRenewalFailed }: RenewalOptions) => {
  let running: Promise<DeviceRecord> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const noteFailure = async (record: DeviceRecord, error: DeviceError): Promise<void> => {
    const next = failedRecord(record, error, now())
    await held.writeFailed(next)
    later(next)
    queueMicrotask(() => onRenewalFailed?.(error))
  }

  /** `instead`: renews this attestation even if it is not due. */
  const renew = (instead?: string): Promise<DeviceRecord> =>
    held.exclusively(async () => {
      const record = await held.read()
      // Another user of this store was faster.
      if (record.attestation !== instead && !isDue(record, now())) {
        if (isGood(record, now())) return record
        throw problemOf(record, now())
      }
      try {
        const attested = await ceremony.renew(await usedKey(key, record.keys), record.attestation)
        return await held.write(newRecord(attested, now(), record.keys))
      } catch (error) {
        if (error instanceof DeviceError) await noteFailure(record, error)
        throw error
      }
    })

  const renewOnce = (): Promise<DeviceRecord> => {
    running ??= renew().finally(() => {
      running = undefined
    })
    return running
  }

  const renewInBackground = (): void => {
    renewOnce().then(later, () => undefined)
  }

  /** Plans the renewal of a record. Neither a process nor a page stays alive for it. */
  const later = (record: DeviceRecord): void => {
    clearTimeout(timer)
    if (!isGood(record, now())) return
    const wait = Math.max(0, record.renewAt - now()) * 1000
    timer = setTimeout(renewInBackground, Math.min(wait, longestTimer))
    if (typeof timer === 'object') timer.unref()
  }

  /** Returns a record that is valid, renewed if it has to be. Throws `DeviceError`. */
  const current = async (): Promise<DeviceRecord> => {
    const record = await held.read()
    if (!isGood(record, now())) return renewOnce()
    if (isDue(record, now())) renewInBackground()
    else later(record)
    return record
  }

  return { renew, later, current, stop: () => clearTimeout(timer) }
}
