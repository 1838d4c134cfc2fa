import { checkMembers, kinds } from '../wire/options.js'
import { createApprovals, type Approval, type Decision } from './approvals.js'
import { checkEnrolment, createCeremony, type Enrolment } from './ceremony.js'
import { proveClient, type ClientProof, type ClientProofOptions } from './client-attestation.js'
import { DeviceError, toldAs } from './errors.js'
import { createAsk } from './issuer.js'
import { generateKeyPair, webCryptoKey, type DeviceKey, type KeyPair } from './key.js'
import { checkRecord, failedRecord, isDue, isGood, newRecord, problemOf } from './record.js'
import { addHttpSignature, addRequestSignature, type SignOptions } from './sign.js'
import type { DeviceRecord, DeviceStore } from './store.js'
import { addWorkloadProof, type WorkloadSignOptions } from './workload-proof.js'

export interface DeviceOptions {
  /** The issuer's URL, as it is in its metadata. */
  readonly issuer: string
  readonly store: DeviceStore
  /**
   * A key that is somewhere else, such as in an HSM. Without one the library makes a pair that cannot be read, and the
   * store keeps it.
   */
  readonly key?: DeviceKey
  /** What sends the requests to the issuer; `fetch` of the platform. */
  readonly fetch?: typeof fetch
  /** Called when a renewal failed. The device tries again by itself, unless the error says `mustEnrol`. */
  readonly onRenewalFailed?: (error: DeviceError) => void
  /** Milliseconds since the epoch; `Date.now`, unless the device has a better clock. */
  readonly clock?: () => number
}

export interface Device {
  /**
   * Enrols a key and keeps the attestation, in place of an earlier one, which stays until then. Throws `DeviceError`, the
   * reason of `signal`, a `TypeError` for an `enrolment` that makes no sense, and what `evidence` throws.
   */
  enrol(enrolment: Enrolment): Promise<void>
  /**
   * The attestation, a compact JWS. From the first call on the device renews it when it is time, one renewal at a time for
   * all that share the store, and gives the one that it has for as long as that is valid. Throws `DeviceError` when it has
   * none that is valid and gets none.
   */
  attestation(): Promise<string>
  /**
   * Renews the attestation now and gives the new one: after a verifier refused this one, or for attributes that changed. One
   * that somebody else got meanwhile will do. Throws `DeviceError`, also when there is still one that is valid.
   */
  renew(): Promise<string>
  /** The request with the headers that prove this device sent it. Reads the whole body. Throws as `attestation` does. */
  sign(request: Request, options: SignOptions): Promise<Request>
  /**
   * The request with the token and the proof of this workload (WIMSE), for a service where the issuer names services. Throws as
   * `attestation` does, `DeviceError` with `NotIssued`, and `TypeError` for a request with `Authorization`.
   */
  signAsWorkload(request: Request, options?: WorkloadSignOptions): Promise<Request>
  /**
   * Headers that authenticate the OAuth client of which this device is an instance, once. Throws as `attestation` does, and
   * `DeviceError` with `NotIssued`.
   */
  clientProof(options: ClientProofOptions): Promise<ClientProof>
  /**
   * What waits for the decision of the person whom this device is enrolled for, the oldest first. Throws as `attestation`
   * does, and `DeviceError`.
   */
  approvals(): Promise<readonly Approval[]>
  /**
   * Signs the decision over exactly what `approval` has, which the person was shown, and gives what stands. Throws as
   * `approvals` does.
   */
  decide(approval: Approval, decision: Decision): Promise<'approved' | 'denied'>
  /** Forgets the attestation, and the key if the store has it. The issuer keeps the principal until an operator revokes it. */
  forget(): Promise<void>
}

const isAddress = (value: unknown): boolean => kinds.text(value) && URL.canParse(value)
const isStore = (value: unknown): boolean =>
  kinds.withMethods('read', 'write', 'remove', 'exclusive')(value) && kinds.truth((value as DeviceStore).keepsKeys)

/** The issuer gets all members of the public half: nobody sends it a private one. */
const isKey = (value: unknown): boolean => {
  if (!kinds.withMethods('sign')(value)) return false
  const { publicJwk } = value as { readonly publicJwk?: Readonly<Record<string, unknown>> }
  if (!publicJwk || 'd' in publicJwk) return false
  return (
    publicJwk['kty'] === 'EC' &&
    publicJwk['crv'] === 'P-256' &&
    kinds.name(publicJwk['x']) &&
    kinds.name(publicJwk['y'])
  )
}

const signMembers = {
  ...{ audience: kinds.name, expiresIn: kinds.number, form: kinds.oneOf('jws', 'http-message-signature') },
}

/** The longest wait of a timer in milliseconds: what is longer ends at once. */
const longestTimer = 2 ** 31 - 1

/** Throws `TypeError` for options that are unknown or make no sense, and for a store that cannot keep the key that the library would make. */
export const createDevice = (options: DeviceOptions): Device => {
  checkMembers(
    'options',
    options,
    {
      ...{ issuer: isAddress, store: isStore, key: isKey, fetch: kinds.call },
      ...{ onRenewalFailed: kinds.call, clock: kinds.call },
    },
    ['issuer', 'store'],
  )
  const { issuer, store, key, onRenewalFailed, clock = Date.now } = options
  if (!key && !store.keepsKeys) throw new TypeError('This store keeps no keys: the device needs one of its own.')
  const ask = createAsk(issuer, options.fetch ?? ((...request) => fetch(...request)))
  const ceremony = createCeremony(issuer, ask)
  const now = (): number => clock() / 1000
  let renewal: Promise<DeviceRecord> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The last failure, while the store did not take it. */
  let failed: DeviceRecord | undefined

  const inStore = <T>(work: () => Promise<T>): Promise<T> =>
    toldAs('StoreFailed', 'The store of this device cannot be used.', work)
  const exclusively = <T>(work: () => Promise<T>): Promise<T> => inStore(() => store.exclusive(work))
  const read = async (): Promise<DeviceRecord> => {
    const record = await checkRecord(await inStore(() => store.read()), now(), key)
    const isSame = failed?.attestation === record.attestation && now() >= failed.keptAt
    return isSame ? { ...record, ...failed } : record
  }
  const keyOf = (keys: KeyPair | undefined): Promise<DeviceKey> =>
    toldAs('KeyFailed', 'The key of this device cannot be used.', async () => {
      const held = key ?? (keys && (await webCryptoKey(keys)))
      if (!held) throw new Error('There is no key.')
      const sign = (input: Uint8Array) =>
        toldAs('KeyFailed', 'The key of this device did not sign.', () => held.sign(input))
      return { publicJwk: held.publicJwk, sign }
    })

  const keep = async (record: DeviceRecord): Promise<DeviceRecord> => {
    await inStore(() => store.write(record))
    failed = undefined
    return record
  }

  /** `instead`: of this attestation, whether or not it is time. */
  const renew = (instead?: string): Promise<DeviceRecord> =>
    exclusively(async () => {
      const record = await read()
      // Somebody else who has this store was first.
      if (record.attestation !== instead && !isDue(record, now())) {
        if (isGood(record, now())) return record
        throw problemOf(record, now())
      }
      try {
        const attested = await ceremony.renew(await keyOf(record.keys), record.attestation)
        return await keep(newRecord(attested, now(), record.keys))
      } catch (error) {
        if (!(error instanceof DeviceError)) throw error
        const next = failedRecord(record, error, now())
        await store.write(next).catch(() => {
          failed = next
        })
        renewLater(next)
        queueMicrotask(() => onRenewalFailed?.(error))
        throw error
      }
    })

  const renewOnce = (): Promise<DeviceRecord> => {
    renewal ??= renew().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  const renewInBackground = (): void => {
    renewOnce().then(renewLater, () => undefined)
  }
  /** The work of a process, or of a page, does not wait for it. */
  const renewLater = (record: DeviceRecord): void => {
    clearTimeout(timer)
    if (!isGood(record, now())) return
    const wait = Math.max(0, record.renewAt - now()) * 1000
    timer = setTimeout(renewInBackground, Math.min(wait, longestTimer))
    if (typeof timer === 'object') timer.unref()
  }

  const current = async (): Promise<DeviceRecord> => {
    const record = await read()
    if (!isGood(record, now())) return renewOnce()
    if (isDue(record, now())) renewInBackground()
    else renewLater(record)
    return record
  }

  /** The key as it is with the attestation. */
  const signer = async () => {
    const { keys, ...record } = await current()
    return { ...record, key: await keyOf(keys), now: now() }
  }
  const approvals = createApprovals(issuer, ask, signer)

  return {
    async enrol(enrolment) {
      checkEnrolment(enrolment)
      // A factor is used up once: not for a store that cannot be used.
      await exclusively(async () => void (await store.read().catch(unlessCorrupted)))
      const keys = key ? undefined : await toldAs('KeyFailed', 'No key can be made.', generateKeyPair)
      const attested = await ceremony.enrol(await keyOf(keys), enrolment)
      renewLater(await exclusively(() => keep(newRecord(attested, now(), keys))))
    },
    attestation: async () => (await current()).attestation,
    async renew() {
      const renewed = await renew((await read()).attestation)
      renewLater(renewed)
      return renewed.attestation
    },
    async sign(request, signOptions) {
      checkMembers('options', signOptions, signMembers, ['audience'])
      const { attestation, key: signing, now: time } = await signer()
      const add = signOptions.form === 'http-message-signature' ? addHttpSignature : addRequestSignature
      return add(request, signing, attestation, signOptions, time)
    },
    async signAsWorkload(request, signOptions = {}) {
      checkMembers('options', signOptions, { expiresIn: kinds.number })
      const { workloadIdentityToken, ...signing } = await signer()
      return addWorkloadProof(request, workloadIdentityToken ?? notIssued(), signing, signOptions)
    },
    async clientProof(proofOptions) {
      checkMembers('options', proofOptions, { audience: kinds.name, challenge: kinds.text }, ['audience'])
      const { clientAttestation, ...signing } = await signer()
      return proveClient(clientAttestation ?? notIssued(), signing, proofOptions)
    },
    approvals: approvals.list,
    decide: approvals.decide,
    async forget() {
      clearTimeout(timer)
      await exclusively(() => store.remove())
      clearTimeout(timer)
    },
  }
}

const unlessCorrupted = (error: unknown): void => {
  if (!(error instanceof DeviceError && error.errorCode === 'StoreCorrupted')) throw error
}

const notIssued = (): never => {
  throw new DeviceError('NotIssued', 'The issuer gave nothing of the kind to this device.')
}
