import type { KeyPair } from './key.js'

/** What a device remembers between two runs. Times are seconds since the epoch, by the device's clock. */
export interface DeviceRecord {
  /** The pair that the library made; absent where the device has a key of its own. */
  readonly keys?: KeyPair
  readonly attestation: string
  /** What the issuer gave beside it: good for as long. */
  readonly clientAttestation?: string
  readonly workloadIdentityToken?: string
  /** When this was written: the clock has stepped back if it shows less. */
  readonly keptAt: number
  /** From then on the attestation is not sent any more. */
  readonly goodUntil: number
  /** From then on the device tries to renew the attestation. */
  readonly renewAt: number
  /** Why the last renewal failed. */
  readonly problem?: { readonly errorCode: string; readonly message: string }
}

/**
 * Where a device keeps its record: one store, one device. All of its verbs reject when the store cannot be used, and
 * `write` replaces the whole record or nothing of it.
 */
export interface DeviceStore {
  /** Whether a record comes back with the `CryptoKey`s that it was written with. */
  readonly keepsKeys: boolean
  /** What is there, whatever it is; undefined: nothing. */
  read(): Promise<unknown>
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
    keepsKeys: true,
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
