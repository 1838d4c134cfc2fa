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
  /** The issuer's URL, as in its metadata. */
  readonly issuer: string
  readonly store: DeviceStore
  /**
   * A key held elsewhere, for example in an HSM. Without one, the library generates a non-extractable key pair, which
   * the store keeps.
   */
  readonly key?: DeviceKey
  /** Sends the requests to the issuer. Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch
  /** Called when a renewal failed. The device retries by itself, unless the error has `mustEnrol`. */
  readonly onRenewalFailed?: (error: DeviceError) => void
  /** Milliseconds since the epoch. Default: `Date.now`, unless the device has a better clock. */
  readonly clock?: () => number
}

export interface Device {
  /**
   * Enrols a key and stores the attestation, replacing an earlier one only then. Throws `DeviceError`, the reason of
   * `signal`, a `TypeError` for an invalid `enrolment`, and any error of `evidence`.
   */
  enrol(enrolment: Enrolment): Promise<void>
  /**
   * Returns the attestation, a compact JWS. From the first call on, the device renews it when it is due, with one
   * renewal at a time for all that share the store, and returns the current one as long as it is valid. Throws
   * `DeviceError` when it has no valid one and cannot get one.
   */
  attestation(): Promise<string>
  /**
   * Renews the attestation now and returns the new one, for example after a verifier refused this one, or when
   * attributes have changed. A renewal that another process has just made counts. Throws `DeviceError`, even while
   * the current one is valid.
   */
  renew(): Promise<string>
  /**
   * Returns the request with headers that prove that this device sent it. Reads the whole body. Throws like
   * `attestation`.
   */
  sign(request: Request, options: SignOptions): Promise<Request>
  /**
   * Returns the request with the token and the proof of this workload (WIMSE), if the issuer names services as
   * workloads. Throws like `attestation`, `DeviceError` with `NotIssued`, and `TypeError` for a request with
   * `Authorization`.
   */
  signAsWorkload(request: Request, options?: WorkloadSignOptions): Promise<Request>
  /**
   * Returns headers that authenticate, once, the OAuth client of which this device is an instance. Throws like
   * `attestation`, and `DeviceError` with `NotIssued`.
   */
  clientProof(options: ClientProofOptions): Promise<ClientProof>
  /**
   * Requests that wait for the decision of the person whom this device is enrolled for, oldest first. Throws like
   * `attestation`, and `DeviceError`.
   */
  approvals(): Promise<readonly Approval[]>
  /**
   * Signs the decision over exactly the contents of `approval` that the person was shown, and returns the decision in
   * force. Throws like `approvals`.
   */
  decide(approval: Approval, decision: Decision): Promise<'approved' | 'denied'>
  /**
   * Deletes the attestation, and the key if the store holds it. The issuer keeps the principal until an operator
   * revokes it.
   */
  forget(): Promise<void>
}

const isAddress = (value: unknown): boolean => kinds.text(value) && URL.canParse(value)
const isStore = (value: unknown): boolean =>
  kinds.withMethods('read', 'write', 'remove', 'exclusive')(value) && kinds.truth((value as DeviceStore).keepsKeys)

/** All members of the public half are sent to the issuer, so it must have no private member. */
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

/** The longest delay of a timer in milliseconds; a longer one fires at once. */
const longestTimer = 2 ** 31 - 1

/**
 * Throws `TypeError` for unknown or invalid options, and for a store that cannot hold the key that the library would
 * generate.
 */
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
  /** The last failure, while it could not be stored. */
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

  /** `instead`: renews this attestation even if it is not due. */
  const renew = (instead?: string): Promise<DeviceRecord> =>
    exclusively(async () => {
      const record = await read()
      // Another user of this store was faster.
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
  /** Neither a process nor a page stays alive for it. */
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

  /** The key that belongs to the attestation. */
  const signer = async () => {
    const { keys, ...record } = await current()
    return { ...record, key: await keyOf(keys), now: now() }
  }
  const approvals = createApprovals(issuer, ask, signer)

  return {
    async enrol(enrolment) {
      checkEnrolment(enrolment)
      // A factor can be used only once, so an unusable store must be found first.
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
