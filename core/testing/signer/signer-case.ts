import type { JwsAlg } from '../../jose/jwk.js'
import type { SignerProvider } from '../../keys/ports.js'

/** A provider and the keys in its backend. */
export interface SignerUnderTest {
  readonly provider: SignerProvider
  /** Returns the `ref` of a key for this algorithm, always the same one. */
  readonly ref: (alg: JwsAlg) => string | Promise<string>
  /**
   * Returns a new name each time. The rules for keys of slots then make some keys in the backend, which stay where it
   * has no `removal`. Absent: these rules are left out.
   */
  readonly newName?: () => string
}

/** One rule of the contract. */
export interface SignerCase {
  /** Absent when the rule is the same for all algorithms. */
  readonly alg?: JwsAlg
  readonly name: string
  /** Whether it needs `newName`. */
  readonly makesKeys?: boolean
  /** Rejects with what the signer did wrong. */
  run(signer: SignerUnderTest): Promise<void>
}
