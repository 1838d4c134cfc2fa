import type { JsonObject } from '../json.js'
import type { JwsAlg, PublicJwk, VerificationKey } from '../jose/jwk.js'

/** Seconds that a signed authorization response (purpose `jarm`) is valid: at most ten minutes (JARM §2.1). */
export const authorizationResponseSeconds = 600
/** Seconds that a logout token is valid: at most two minutes (OIDC Back-Channel Logout §2.4). */
export const logoutTokenSeconds = 120
/**
 * A status list is valid for this multiple of the time that verifiers may cache it, which is the longest outage it
 * survives.
 */
export const statusListLifetimes = 3

/** What a key may sign, as set in `keys[].purposes`. */
export type KeyPurpose =
  | 'access_token'
  | 'id_token'
  | 'attestation'
  | 'userinfo'
  | 'introspection'
  | 'jarm'
  | 'logout_token'
  | 'status_list'
  | 'client_authentication'
  | 'handoff'
  | 'audit'

/** One private key, wherever it is held. No type here can carry private material. */
export interface Signer {
  readonly alg: JwsAlg
  readonly publicJwk: PublicJwk
  /**
   * The message lengths that the backend signs, if fewer than 0 bytes to 256 KiB. It throws `KeyRefused` for any
   * other length.
   */
  readonly messageBytes?: { readonly min: number; readonly max: number }
  /**
   * Signs `message` (the message itself, never its digest; 0 bytes to 256 KiB) and returns the signature in JOSE
   * form, r||s for ECDSA (RFC 7518 §3.4). A backend with its own log fills in `trace`. Throws `Unavailable` when
   * another attempt may succeed, `KeyRefused` when none will until an operator acts, or the signal's reason when
   * aborted. The signer makes any further attempts itself within this call; callers never repeat it.
   */
  sign(message: Uint8Array, signal: AbortSignal, trace?: SignatureTrace): Promise<Uint8Array>
}

/** How the backend's own log identifies one signature, so that an auditor can match the two. */
export interface SignatureTrace {
  /** The request id of a KMS, or the session and counter of a PKCS#11 token. */
  reference?: string
  /** The key used, for example the ARN behind an alias. */
  key?: string
  /** The version of the key, if the backend has versions. */
  keyVersion?: string
}

/** What a backend with tags stores with a key that Signet made, so that no key is ever without an owner. */
export interface KeyTags {
  /** The issuer. */
  readonly deployment: string
  readonly slot: string
  readonly kid: string
}

/** A key as a backend lists it. */
export interface BackendKey {
  readonly ref: string
  /** The name given to `create`, if the key still has it. */
  readonly name?: string
  readonly tags?: Partial<KeyTags>
  /** Whether the backend has it disabled, or scheduled for deletion. */
  readonly disabled?: boolean
}

/** The facts that a backend reports about itself, in groups such as `module`, `token` and `firmware`. */
export type BackendFacts = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>

/** One configured backend that holds keys: a KMS region, a PKCS#11 token, a directory. */
export interface SignerProvider extends AsyncDisposable {
  /**
   * How many signatures it makes concurrently; the value may change at any time. Further requests wait in the ring by
   * priority and in turn, so that none waits inside a signer, where time counts against the backend. Default 256.
   */
  readonly concurrency?: number | undefined
  /** Seconds between two probes of a key that is well, each of which is one signature. Default 30. */
  readonly probeSeconds?: number | undefined
  /**
   * Opens the key that the backend calls `ref` (verbatim: an ARN, an RFC 7512 URI, a file name). Throws
   * `KeyRefused` when the key cannot sign `alg`, `Unavailable` when the backend cannot be asked.
   */
  open(ref: string, alg: JwsAlg, signal: AbortSignal): Promise<Signer>
  /** Resolves when the backend answers. Throws `Unavailable`. */
  ping(signal: AbortSignal): Promise<void>
  /**
   * Creates a key inside the backend and returns its `ref`. The key cannot leave the backend, and only signs. Throws
   * `KeyRefused` when nothing was created, and `Unavailable` when that is unknown. Absent if the backend cannot; then
   * it holds no keys of slots.
   */
  create?(name: string, alg: JwsAlg, signal: AbortSignal, tags?: KeyTags): Promise<string>
  /**
   * Finds what earlier calls of `create` with this name have left, whatever interrupted them. It returns the `ref` of
   * each such key, in a stable order, and gives a key whose name could not be set its name. Backends that answer late
   * about new keys find them by `tags`, which are given only when there was an earlier call. `name` may also be a
   * `ref`. Slots need it. Throws `Unavailable`, `KeyRefused`.
   */
  find?(name: string, signal: AbortSignal, tags?: KeyTags): Promise<readonly string[]>
  /**
   * The keys that the backend holds for this deployment: with its tag, or, where a backend has no tags, with a name
   * that begins with `prefix`. Slots need it. Throws `Unavailable`, `KeyRefused`.
   */
  list?(prefix: string, deployment: string, signal: AbortSignal): Promise<readonly BackendKey[]>
  /**
   * What the backend says of a key, for people: whether it was made there, whether it can leave. Throws `KeyRefused`
   * when it could be read or was not made there, and `Unavailable`. Absent if the backend says nothing.
   */
  inspect?(ref: string, signal: AbortSignal): Promise<Readonly<Record<string, string | number | boolean>>>
  /**
   * What the backend says of itself, for people and auditors: which software and device hold the keys, and their
   * versions. The same as long as nothing there changes, and no secret. Throws `KeyRefused`, `Unavailable`. Absent if
   * the backend says nothing.
   */
  facts?(signal: AbortSignal): Promise<BackendFacts>
  /**
   * Makes a key that has no live signatures unusable for good, at once or in two steps: `disable` first, and `destroy`
   * days later. Both may be repeated. Absent where keys are deleted by people only. Throws `Unavailable`,
   * `KeyRefused`.
   */
  readonly removal?: {
    disable(ref: string, signal: AbortSignal): Promise<void>
    destroy(ref: string, signal: AbortSignal): Promise<void>
  }
  /**
   * Why the backend signs nothing until an operator acts, such as a refused PIN. Known without a call; undefined
   * while there is no such reason. Readiness changes at once, and a reload reports it.
   */
  readonly refusal?: string | undefined
  /**
   * One line about the backend for the operator, whether it answers or not. `signet doctor` prints it. It must hold
   * no secret.
   */
  describe?(): string
}

const brand = Symbol.for('signet.KeyRefused')

/** The key or the configuration is wrong (wrong type, readable by others, not found), and no retry helps. */
export class KeyRefused extends Error {
  override readonly name = 'KeyRefused'
  readonly [brand] = true

  /** A signer may bring its own copy of this package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}

/**
 * The order in which queued signatures are made: people signing in come before refreshes, machines and attestation
 * renewals.
 */
export type SignaturePriority = 'sign_in' | 'refresh' | 'machine' | 'renewal'

/** A signing request, for whichever key of the ring is able to serve it. */
export interface SigningRequest {
  readonly purpose: KeyPurpose
  readonly alg: JwsAlg
  readonly priority: SignaturePriority
  /** The client it is made for, so that one client cannot use up a backend's quota. */
  readonly clientId: string
  /** The JWS signing input (ASCII) for the given key. Called again when another key has to take over. */
  readonly input: (key: SigningKey) => string
  readonly signal: AbortSignal
}

export interface MadeSignature extends SignatureTrace {
  readonly kid: string
  readonly alg: JwsAlg
  /** The name of the signer in the configuration. */
  readonly signer: string
  /** The key that verifies it. */
  readonly publishedKey: PublishedKey
  readonly input: string
  readonly signature: Uint8Array
}

/** A key that may sign for a purpose now. */
export interface SigningKey {
  readonly kid: string
  readonly alg: JwsAlg
  /** The name of the signer in the configuration. */
  readonly signerName: string
  readonly signer: Signer
}

/** A key that verifies our own tokens: next, active or retired. */
export interface PublishedKey extends VerificationKey {
  readonly kid: string
  /**
   * The purposes that its signatures are accepted for: its current ones, and earlier ones whose tokens have not
   * expired.
   */
  readonly purposes: readonly KeyPurpose[]
}

export type KeyState = 'next' | 'active' | 'retired' | 'gone'

/** All configured keys with their states by the clock, and the only way to get a signature for a purpose. */
export interface KeyRing {
  /**
   * Signs with the first listed active key for this purpose and algorithm that is able to. Throws `Unavailable` when
   * there is none; then no signature has left the ring.
   */
  sign(order: SigningRequest): Promise<MadeSignature>
  /** The first listed active key for this purpose and algorithm. Throws `Unavailable` when there is none. */
  signingKey(purpose: KeyPurpose, alg: JwsAlg): SigningKey
  /** Finds a key by the `kid` of a token's header, which is used as a map key only. Undefined when unknown or gone. */
  publishedKey(kid: string): PublishedKey | undefined
  /** The body of `/jwks.json`, rebuilt only when a state changes. */
  keySet(): { readonly body: Buffer; readonly etag: string; readonly maxAgeSeconds: number }
  /** The algorithms of active and next keys, which discovery advertises. The array is the same until they change. */
  algorithms(purpose: KeyPurpose): readonly JwsAlg[]
  /** Every configured key, for `keys list`, health and audit. */
  states(): readonly {
    readonly kid: string
    readonly alg: JwsAlg
    readonly signer: string
    readonly state: KeyState
    readonly purposes: readonly KeyPurpose[]
  }[]
}

/** Purposes of requests signed for services outside this deployment. */
export type RequestPurpose = Extract<KeyPurpose, 'client_authentication' | 'handoff'>

/** Signs JWTs for services outside this deployment, with keys of that purpose, which are in `/jwks.json`. */
export interface SignedRequests {
  /**
   * Signs `claims` unchanged and records the signature. `by` is an id for the audit log and fair queues. Without
   * `alg`, the first algorithm with a key is used. Throws `Unavailable`, also when there is no such key.
   */
  sign(
    purpose: RequestPurpose,
    claims: JsonObject,
    more: { readonly by: string; readonly alg?: JwsAlg | undefined; readonly signal: AbortSignal },
  ): Promise<string>
}
