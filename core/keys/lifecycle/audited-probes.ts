import { hash } from 'node:crypto'
import { isProbe } from '../probe.js'
import type { SignatureTrace, Signer, SignerProvider } from '../ports.js'
import type { AuditLog } from '../../observe/audit.js'

/**
 * Wraps a provider so that every probe it signs is in the audit log; then the backend's own log shows no signature
 * that ours lacks. A probe that cannot be recorded fails with `Unavailable`.
 */
export const auditProbes = (name: string, provider: SignerProvider, audit: AuditLog): SignerProvider => ({
  get concurrency() {
    return provider.concurrency
  },
  get refusal() {
    return provider.refusal
  },
  probeSeconds: provider.probeSeconds,
  open: async (ref, alg, signal) => recordProbes(name, ref, await provider.open(ref, alg, signal), audit),
  ping: (signal) => provider.ping(signal),
  ...keyMakingOf(provider),
  [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
})

/** What a backend offers for keys of slots; none of it signs. */
const keyMakingOf = (provider: SignerProvider): Partial<SignerProvider> => ({
  ...(provider.create && { create: provider.create.bind(provider) }),
  ...(provider.find && { find: provider.find.bind(provider) }),
  ...(provider.list && { list: provider.list.bind(provider) }),
  ...(provider.inspect && { inspect: provider.inspect.bind(provider) }),
  ...(provider.facts && { facts: provider.facts.bind(provider) }),
  ...(provider.removal && { removal: provider.removal }),
})

const recordProbes = (name: string, ref: string, signer: Signer, audit: AuditLog): Signer => {
  const signProbe = async (message: Uint8Array, signal: AbortSignal): Promise<Uint8Array> => {
    const trace: SignatureTrace = {}
    const signature = await signer.sign(message, signal, trace)
    const { reference, key, keyVersion: key_version } = trace
    const digest = hash('sha256', message, 'base64url')
    const made = { alg: signer.alg, digest, reference, key, key_version }
    await audit.record({ event: 'key.proved', signer: name, ref, ...made })
    return signature
  }
  return {
    alg: signer.alg,
    publicJwk: signer.publicJwk,
    ...(signer.messageBytes && { messageBytes: signer.messageBytes }),
    sign: (message, signal, trace) =>
      isProbe(message) ? signProbe(message, signal) : signer.sign(message, signal, trace),
  }
}
