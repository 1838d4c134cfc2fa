import { withDeadline } from '../../deadline.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { SignerUnderTest } from './signer-case.js'
import { signerCases } from './signer-cases.js'

export interface SignerReport {
  /** How many cases were run. */
  readonly cases: number
  /** Empty when the signer keeps every rule. */
  readonly failures: readonly { readonly alg?: JwsAlg; readonly name: string; readonly detail: string }[]
}

/**
 * Runs the whole contract of signers without a test runner. `algs` are the backend's algorithms (default: all that
 * Signet knows). `deadlineMs` is per case (default 20,000). Never throws, and leaves the provider open.
 */
export const checkSigner = async (
  given: SignerUnderTest & { readonly algs?: readonly JwsAlg[]; readonly deadlineMs?: number },
): Promise<SignerReport> => {
  const { algs, deadlineMs = 20_000 } = given
  const cases = signerCases(algs).filter(({ makesKeys }) => makesKeys !== true || given.newName !== undefined)
  const failures: SignerReport['failures'][number][] = []
  for (const { run, alg, name } of cases) {
    const late = () => new Error(`does not end within ${deadlineMs} ms`)
    try {
      await withDeadline(deadlineMs, () => run(given), late)
    } catch (error) {
      failures.push({
        ...(alg !== undefined && { alg }),
        name,
        detail: error instanceof Error ? error.message : String(error),
      })
    }
  }
  return { cases: cases.length, failures }
}
