import { checkMembers, kinds } from '../wire/options.js'
import { createApprovals, type Approval, type Decision } from './approvals.js'
import { checkEnrolment, createCeremony, type Enrolment } from './ceremony.js'
import { proveClient, type ClientProof, type ClientProofOptions } from './client-attestation.js'
import { DeviceError, withErrorCode } from './errors.js'
import { createHeldRecord } from './held-record.js'
import { createAsk } from './issuer.js'
import { generateKeyPair, usedKey, type DeviceKey } from './key.js'
import { newRecord } from './record.js'
import { createRenewal } from './renewal.js'
import { addHttpSignature, addRequestSignature, type SignOptions } from './sign.js'
import type { DeviceStore } from './store.js'
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

const checkOptions = (options: DeviceOptions): void => {
  checkMembers(
    'options',
    options,
    {
      ...{ issuer: isAddress, store: isStore, key: isKey, fetch: kinds.call },
      ...{ onRenewalFailed: kinds.call, clock: kinds.call },
    },
    ['issuer', 'store'],
  )
  if (!options.key && !options.store.keepsKeys)
    throw new TypeError('This store keeps no keys: the device needs one of its own.')
}

/**
 * Throws `TypeError` for unknown or invalid options, and for a store that cannot hold the key that the library would
 * generate.
 */
export const createDevice = (options: DeviceOptions): Device => {
  checkOptions(options)
  const { issuer, store, key, clock = Date.now } = options
  const ask = createAsk(issuer, options.fetch ?? ((...request) => fetch(...request)))
  const ceremony = createCeremony(issuer, ask)
  const now = (): number => clock() / 1000
  const held = createHeldRecord({ store, key, now })
  const renewal = createRenewal({ ...options, held, ceremony, now })

  /** The key that belongs to the attestation. */
  const signer = async () => {
    const { keys, ...record } = await renewal.current()
    return { ...record, key: await usedKey(key, keys), now: now() }
  }
  const approvals = createApprovals(issuer, ask, signer)

  return {
    async enrol(enrolment) {
      checkEnrolment(enrolment)
      // A factor can be used only once, so an unusable store must be found first.
      await held.exclusively(async () => void (await store.read().catch(unlessCorrupted)))
      const keys = key ? undefined : await withErrorCode('KeyFailed', 'No key can be made.', generateKeyPair)
      const attested = await ceremony.enrol(await usedKey(key, keys), enrolment)
      renewal.later(await held.exclusively(() => held.write(newRecord(attested, now(), keys))))
    },
    attestation: async () => (await renewal.current()).attestation,
    async renew() {
      const renewed = await renewal.renew((await held.read()).attestation)
      renewal.later(renewed)
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
      renewal.stop()
      await held.exclusively(() => store.remove())
      // A request may have planned a renewal meanwhile.
      renewal.stop()
    },
  }
}

const unlessCorrupted = (error: unknown): void => {
  if (!(error instanceof DeviceError && error.errorCode === 'StoreCorrupted')) throw error
}

const notIssued = (): never => {
  throw new DeviceError('NotIssued', 'The issuer gave nothing of the kind to this device.')
}
