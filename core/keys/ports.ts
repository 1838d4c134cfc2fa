import type { JsonObject } from '../json.js'
import type { JwsAlg, PublicJwk, VerificationKey } from '../jose/jwk.js'

/** Seconds that a signed authorization response, purpose `jarm`, is good for: ten minutes at most (JARM §2.1). */
export const authorizationResponseSeconds = 600
/** Seconds that a logout token is good for: two minutes at most (OIDC Back-Channel Logout §2.4). */
export const logoutTokenSeconds = 120
/** A status list is good for so many times as long as verifiers may use it: the time that an outage may last. */
export const statusListLifetimes = 3

/** What a key may sign: the purpose lock of `keys[].purposes`. */
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

/** One private key, wherever it lives. No type here can carry private material. */
export interface Signer {
  readonly alg: JwsAlg
  readonly publicJwk: PublicJwk
  /** What the backend signs, where that is less than 0 bytes to 256 KiB; it throws `KeyRefused` for any other length. */
  readonly messageBytes?: { readonly min: number; readonly max: number }
  /**
   * Signs `message` (the message itself, never a digest of it; 0 bytes to 256 KiB) and returns the JOSE form of the
   * signature: r||s for ECDSA (RFC 7518 §3.4). A backend with a log of its own fills `trace`. Throws `Unavailable` when
   * another attempt may succeed, `KeyRefused` when none will until an operator acts, or the signal's reason when aborted.
   * Attempts beyond the first are the signer's own, within this call: nobody else repeats it.
   */
  sign(message: Uint8Array, signal: AbortSignal, trace?: SignatureTrace): Promise<Uint8Array>
}

/** How the backend's own log names one signature, so that an auditor can match the two. */
export interface SignatureTrace {
  /** The request id of a KMS; session and counter of a PKCS#11 token. */
  reference?: string
  /** The key: the ARN that an alias stands for. */
  key?: string
  /** The version of the key, where the backend has versions. */
  keyVersion?: string
}

/** One configured backend that holds keys: a KMS region, a PKCS#11 token, a directory. */
export interface SignerProvider extends AsyncDisposable {
  /**
   * Signatures that it makes side by side; it may change at any time. Orders beyond it wait in the ring, by priority and in
   * turns, so that none waits within a signer, where time counts against the backend. Absent: 256.
   */
  readonly concurrency?: number | undefined
  /**
   * Opens the key that the backend calls `ref` (verbatim: an ARN, an RFC 7512 URI, a file name). Throws
   * `KeyRefused` when the key cannot sign `alg`, `Unavailable` when the backend cannot be asked.
   */
  open(ref: string, alg: JwsAlg, signal: AbortSignal): Promise<Signer>
  /** Resolves when the backend answers; throws `Unavailable`. */
  ping(signal: AbortSignal): Promise<void>
  /** Makes a key inside the backend and returns its `ref`. Absent where the backend cannot. */
  create?(ref: string, alg: JwsAlg, signal: AbortSignal): Promise<string>
  /**
   * Why the backend signs nothing until an operator acts, such as a PIN that was refused. Known without a question; undefined while
   * there is no such reason. Readiness follows at once, and a reload reports it.
   */
  readonly refusal?: string | undefined
  /** What an operator should know of the backend, in a line, whether it answers or not: the doctor prints it. No secret. */
  describe?(): string
}

const brand = Symbol.for('signet.KeyRefused')

/** The key or the configuration is wrong and no retry helps: wrong type, readable by others, not found. */
export class KeyRefused extends Error {
  override readonly name = 'KeyRefused'
  readonly [brand] = true

  /** A signer may bring a copy of this package of its own. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}

/** Who goes first when signatures queue: people at a sign-in before refreshes, machines and renewals of attestations. */
export type SignaturePriority = 'sign_in' | 'refresh' | 'machine' | 'renewal'

/** What is to be signed, by whichever key of the ring may and can. */
export interface SignatureOrder {
  readonly purpose: KeyPurpose
  readonly alg: JwsAlg
  readonly priority: SignaturePriority
  /** For whom, so that one client cannot use up a backend's quota. */
  readonly clientId: string
  /** The JWS signing input (ASCII) for the key that signs; asked again when another key has to step in. */
  readonly input: (key: SigningKey) => string
  readonly signal: AbortSignal
}

export interface MadeSignature extends SignatureTrace {
  readonly kid: string
  readonly alg: JwsAlg
  /** The name of the signer in the configuration. */
  readonly signer: string
  /** What verifies it. */
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

/** A key that our own tokens may be verified with: next, active or retired. */
export interface PublishedKey extends VerificationKey {
  readonly kid: string
  /** What its signatures are accepted for: what it may sign, and what it may have signed before that has not run out. */
  readonly purposes: readonly KeyPurpose[]
}

export type KeyState = 'next' | 'active' | 'retired' | 'gone'

/** All configured keys with their states by clock; the only way from a purpose to a signature. */
export interface KeyRing {
  /**
   * Signs with the first listed active key for this purpose and algorithm that can. Throws `Unavailable` when there is
   * none; then nothing was signed that anybody will see.
   */
  sign(order: SignatureOrder): Promise<MadeSignature>
  /** The first listed active key for this purpose and algorithm. Throws `Unavailable` when there is none. */
  signingKey(purpose: KeyPurpose, alg: JwsAlg): SigningKey
  /** By `kid` from a token's header: a key of a map, nothing else. Undefined when unknown or gone. */
  publishedKey(kid: string): PublishedKey | undefined
  /** The bytes of `/jwks.json`, rebuilt only when a state changes. */
  keySet(): { readonly body: Buffer; readonly etag: string; readonly maxAgeSeconds: number }
  /** The algorithms that active or next keys exist for: what discovery advertises. The same array until they change. */
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

/** What is signed for services outside of this deployment. */
export type RequestPurpose = Extract<KeyPurpose, 'client_authentication' | 'handoff'>

/** Signs JWTs for services outside of this deployment, by keys of `keys` with that purpose, which are in `/jwks.json`. */
export interface SignedRequests {
  /**
   * Signs `claims` as they are, and records the signature. `by` is for whom: an id for the audit log and for fair queues.
   * Without `alg` the first algorithm that there is a key for. Throws `Unavailable`, also when there is no such key.
   */
  sign(
    purpose: RequestPurpose,
    claims: JsonObject,
    more: { readonly by: string; readonly alg?: JwsAlg | undefined; readonly signal: AbortSignal },
  ): Promise<string>
}
