import { createCeremony, type Attested, type Enrolment } from './ceremony.js'
import { DeviceError } from './errors.js'
import { generateKeyPair, webCryptoKey, type DeviceKey, type KeyPair } from './key.js'
import { addHttpSignature, addRequestSignature, type SignOptions } from './sign.js'
import type { DeviceRecord, DeviceStore } from './store.js'

export interface DeviceOptions {
  /** The issuer's URL, as it is in its metadata. */
  readonly issuer: string
  readonly store: DeviceStore
  /** A key that is somewhere else, such as in an HSM. Without one the library makes a pair that cannot be read, and the store keeps it. */
  readonly key?: DeviceKey
  /** What sends the requests of the ceremony; `fetch` of the platform. */
  readonly fetch?: typeof fetch
  /** Called when a renewal is refused for good, while the attestation may still be valid. */
  readonly onRefused?: (error: DeviceError) => void
}

export interface Device {
  /** Enrols a key and keeps the attestation, in place of an earlier one. Throws `DeviceError`. */
  enrol(enrolment: Enrolment): Promise<void>
  /**
   * The attestation, a compact JWS. When it is time the device renews it in the background, one renewal at a time for all
   * that share the store, and gives the one that it has for as long as that is valid. Throws `DeviceError` when it has none
   * that is valid and gets none.
   */
  attestation(): Promise<string>
  /** The request with the headers that prove this device sent it. Reads the whole body. Throws as `attestation` does. */
  sign(request: Request, options: SignOptions): Promise<Request>
  /** Forgets the attestation, and the key if the store has it. The issuer keeps the principal until an operator revokes it. */
  forget(): Promise<void>
}

/** Seconds: an attestation that expires within this is not sent any more. */
const margin = 30
/** Seconds over which devices spread that could not renew, so that they do not all come back at once. */
const spread = 600

const now = (): number => Date.now() / 1000

export const createDevice = ({ issuer, store, key, onRefused, ...options }: DeviceOptions): Device => {
  const ceremony = createCeremony(issuer, options.fetch ?? ((...request) => fetch(...request)))
  let renewal: Promise<DeviceRecord> | undefined

  const keyOf = async ({ keys }: Pick<DeviceRecord, 'keys'>): Promise<DeviceKey> => {
    if (key) return key
    if (!keys) throw new DeviceError('NotEnrolled', 'This store has no key.')
    return webCryptoKey(keys)
  }
  const read = async (): Promise<DeviceRecord> => {
    const record = await store.read()
    if (!record) throw new DeviceError('NotEnrolled', 'This device is not enrolled.')
    return record
  }
  const keep = async ({ attestation, expires_in, reissue_after }: Attested, keys?: KeyPair) => {
    const renewAt = now() + reissue_after * (0.9 + Math.random() * 0.2)
    const record = { attestation, expiresAt: now() + expires_in, renewAt, ...(keys && { keys }) }
    await store.write(record)
    return record
  }

  const renew = (): Promise<DeviceRecord> =>
    store.exclusive(async () => {
      const record = await read()
      // Somebody else who has this store was first.
      if (now() < record.renewAt && isValid(record)) return record
      try {
        return await keep(await ceremony.renew(await keyOf(record), record.attestation), record.keys)
      } catch (error) {
        const refused = error instanceof DeviceError && !error.isPassing
        const soonest = (error instanceof DeviceError && error.retryAfterSeconds) || 0
        const again = Math.max(soonest, Math.random() * spread)
        // Not later than it takes to try once more while the attestation is valid.
        const renewAt = refused ? record.expiresAt : Math.min(now() + again, record.expiresAt - margin)
        await store.write({ ...record, renewAt: Math.max(renewAt, now() + Math.max(soonest, 1)) })
        if (refused) onRefused?.(error)
        throw error
      }
    })
  const renewOnce = (): Promise<DeviceRecord> =>
    (renewal ??= renew().finally(() => {
      renewal = undefined
    }))

  const current = async (): Promise<DeviceRecord> => {
    const record = await read()
    if (now() < record.renewAt && isValid(record)) return record
    if (!isValid(record)) return renewOnce()
    renewOnce().catch(() => undefined)
    return record
  }

  return {
    async enrol(enrolment) {
      const keys = key ? undefined : await generateKeyPair()
      const attested = await ceremony.enrol(await keyOf({ ...(keys && { keys }) }), enrolment)
      await store.exclusive(() => keep(attested, keys))
    },
    attestation: async () => (await current()).attestation,
    async sign(request, signOptions) {
      const record = await current()
      const add = signOptions.form === 'http-message-signature' ? addHttpSignature : addRequestSignature
      return add(request, await keyOf(record), record.attestation, signOptions)
    },
    forget: () => store.exclusive(() => store.remove()),
  }
}

const isValid = ({ expiresAt }: DeviceRecord): boolean => now() < expiresAt - margin
