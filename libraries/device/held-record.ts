import { withErrorCode } from './errors.js'
import type { DeviceKey } from './key.js'
import { checkRecord } from './record.js'
import type { DeviceRecord, DeviceStore } from './store.js'

export interface HeldRecordOptions {
  readonly store: DeviceStore
  readonly key: DeviceKey | undefined
  /** Seconds since the epoch. */
  readonly now: () => number
}

/** The record of the device in its store. All members throw `DeviceError`. */
export interface HeldRecord {
  /** Runs `work` while nothing else that shares the store runs. */
  exclusively<T>(work: () => Promise<T>): Promise<T>
  read(): Promise<DeviceRecord>
  /** Resolves with the record. */
  write(record: DeviceRecord): Promise<DeviceRecord>
  /** Writes the record of a failed renewal, or remembers it while the store cannot be used. Throws nothing. */
  writeFailed(record: DeviceRecord): Promise<void>
}

export const createHeldRecord = ({ store, key, now }: HeldRecordOptions): HeldRecord => {
  /** The last failure, while it could not be stored. */
  let failed: DeviceRecord | undefined

  const inStore = <T>(work: () => Promise<T>): Promise<T> =>
    withErrorCode('StoreFailed', 'The store of this device cannot be used.', work)

  return {
    exclusively: (work) => inStore(() => store.exclusive(work)),
    async read() {
      const record = await checkRecord(await inStore(() => store.read()), now(), key)
      const isSame = failed?.attestation === record.attestation && now() >= failed.keptAt
      return isSame ? { ...record, ...failed } : record
    },
    async write(record) {
      await inStore(() => store.write(record))
      failed = undefined
      return record
    },
    async writeFailed(record) {
      await store.write(record).catch(() => {
        failed = record
      })
    },
  }
}
