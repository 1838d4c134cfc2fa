import type { KeyPair } from './key.js'

/** What a device remembers between two runs. Times are seconds since the epoch, by the device's clock. */
export interface DeviceRecord {
  /** The pair that the library made; absent where the device has a key of its own. */
  readonly keys?: KeyPair
  readonly attestation: string
  readonly expiresAt: number
  /** From then on the device tries to renew the attestation. */
  readonly renewAt: number
}

/** Where a device keeps its record: one store, one device. All of its verbs reject when the store cannot be used. */
export interface DeviceStore {
  read(): Promise<DeviceRecord | undefined>
  write(record: DeviceRecord): Promise<void>
  remove(): Promise<void>
  /** Runs `work` while nobody else who has this store, in any tab or process, runs theirs. */
  exclusive<T>(work: () => Promise<T>): Promise<T>
}

/** Forgets everything with the page or process: for tests, and for devices that enrol at each start. */
export const memoryStore = (): DeviceStore => {
  let record: DeviceRecord | undefined
  let last: Promise<unknown> = Promise.resolve()
  return {
    read: () => Promise.resolve(record),
    write(written) {
      record = written
      return Promise.resolve()
    },
    remove() {
      record = undefined
      return Promise.resolve()
    },
    exclusive(work) {
      const mine = last.then(work)
      last = mine.catch(() => undefined)
      return mine
    },
  }
}
