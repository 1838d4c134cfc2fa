import { ConfigurationError } from '../../../config/problems.js'
import type { Clock } from '../../clock.js'
import { withDeadline } from '../../deadline.js'
import type { SignerProvider } from '../../keys/ports.js'
import { auditProbes } from '../../keys/lifecycle/audited-probes.js'
import type { LoadedSigner } from '../../modules/load-modules.js'
import { createSignerProviders } from '../../modules/registries.js'
import type { AuditLog } from '../../observe/audit.js'
import { noLog } from '../../observe/log.js'
import { Unavailable } from '../../unavailable.js'

/** Milliseconds for one answer of a backend. */
const answerMs = 10_000

/** The signers of a deployment, each opened once, or why it could not be opened. */
export interface Backends extends AsyncDisposable {
  readonly providers: ReadonlyMap<string, SignerProvider>
  readonly inProcess: ReadonlySet<string>
  /** By the name of the signer. */
  readonly absent: ReadonlyMap<string, string>
}

/** Gives up on a backend that does not answer, whether or not it heeds the signal. */
export const askBackend = <T>(name: string, call: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  withDeadline(
    answerMs,
    call,
    () => new Unavailable(`signers.${name}`, 'no', `no answer within ${String(answerMs)} ms`),
  )

const explain = (error: unknown, { mask }: LoadedSigner): string => {
  if (error instanceof ConfigurationError) return error.problems[0]?.message ?? ''
  return mask(error instanceof Error ? error.message : 'unknown error')
}

/** Opens every signer. One that cannot be opened does not keep the others from answering. */
export const openBackends = async (
  signers: ReadonlyMap<string, LoadedSigner>,
  { clock, audit }: { readonly clock: Clock; readonly audit: AuditLog },
): Promise<Backends> => {
  const providers = new Map<string, SignerProvider>()
  const inProcess = new Set<string>()
  const absent = new Map<string, string>()
  const opened: AsyncDisposable[] = []
  for (const [name, loaded] of signers)
    try {
      const one = await askBackend(name, () => createSignerProviders(new Map([[name, loaded]]), { clock, log: noLog }))
      opened.push(one)
      for (const [own, provider] of one.byName) providers.set(own, auditProbes(own, provider, audit))
      for (const own of one.inProcess) inProcess.add(own)
    } catch (error) {
      absent.set(name, explain(error, loaded))
    }
  return {
    providers,
    inProcess,
    absent,
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(opened.map((one) => one[Symbol.asyncDispose]()))
    },
  }
}
