import { fileURLToPath } from 'node:url'
import type { SignerProvider } from '../core/api/signer.js'
import { kmsProvider } from '../test/support/signers/aws-kms-provider.js'
import { receive, startPinned, stop } from '../test/support/peer/pinned.js'

export interface BenchKms extends AsyncDisposable {
  readonly endpoint: string
  readonly provider: SignerProvider
}

/** The KMS double and a signer on it. `cores` is in the form of taskset(1). */
export const startKms = async (cores: string, pace: 'quick' | 'slow'): Promise<BenchKms> => {
  const file = fileURLToPath(new URL('kms-double-process.ts', import.meta.url))
  const double = startPinned(cores, ['--import', 'tsx', file, pace])
  const endpoint = (await receive(double)) as string
  const provider = await kmsProvider({ endpoint }, { deadline_ms: 10_000 })
  return {
    endpoint,
    provider,
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]()
      await stop(double)
    },
  }
}
