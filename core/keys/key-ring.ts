import type { Clock } from '../clock.js'
import type { AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'
import { Unavailable } from '../unavailable.js'
import { createBatchVerifier } from './batch-verifier.js'
import { createSignerEvents } from './signer-events.js'
import { signingName, viewAt, type RingView } from './key-states.js'
import { openKeys, type OpenKeysOptions } from './open-keys.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyRing } from './ports.js'
import type { KeyProbe } from './probe-key.js'
import { createProbing } from './probing.js'
import { Recovery } from './recovery.js'
import type { KeyStatus, RingKey } from './ring-key.js'
import { reportRing, type RingReport } from './ring-report.js'
import type { KeyProof } from './shared-proofs.js'
import { createSign } from './sign-request.js'
import { SignerSupervisor, supervisionLimits, type SupervisionLimits } from './signer-supervisor.js'

export type { KeyConfiguration, PreviousRing } from './open-keys.js'
export { KeysRefused } from './open-keys.js'
export type { KeyProbe } from './probe-key.js'
export type { KeyReport, RingReport, SignerReport } from './ring-report.js'

export interface KeyRingOptions extends OpenKeysOptions {
  readonly clock: Clock
  /** `max-age` of `/jwks.json`, seconds. */
  readonly cacheSeconds: number
  /** Signers that hold their keys in this process. Signatures of all others are verified before they leave. */
  readonly inProcess?: ReadonlySet<string>
  readonly limits?: Partial<SupervisionLimits>
  /** Whether what is known of a key is recent enough for it to sign. */
  readonly isCurrent?: ((key: Readonly<RingKey>) => boolean) | undefined
  /** Whether caches may keep the key set. Absent: always. */
  readonly isFresh?: (() => boolean) | undefined
  readonly log?: Log
  readonly audit?: AuditLog
}

/** A key ring that probes its keys and supervises the signers outside the process. */
export interface SupervisedKeyRing extends KeyRing, AsyncDisposable {
  /**
   * Signs a probe with every active or next key (of `signer`, or of all) and verifies it with the published key. A
   * key whose signature does not verify, or that the backend refuses, does not sign until a later probe succeeds.
   * Keys that could not be opened before are opened. Never throws.
   */
  probe(signal: AbortSignal, signer?: string): Promise<readonly KeyProbe[]>
  /** Takes over what another process with the same keys found out by its probes. */
  hear(proofs: readonly KeyProof[]): void
  /** The current state of keys and signers: trust, circuits, queues, calls and latencies. */
  report(): RingReport
  /**
   * Publishes a key that was withheld, if it is. `isLate` says that it was to be published when the ring was opened, so
   * that it may have to sign later than planned.
   */
  admit(kid: string, isLate: boolean): void
  /** The current state of a key. */
  find(kid: string): Readonly<RingKey> | undefined
}

/**
 * Opens every configured key that is not gone. Throws `KeysRefused` with all problems that need an operator. Keys of
 * a backend that does not answer are opened in the background.
 */
export const openKeyRing = async (options: KeyRingOptions): Promise<SupervisedKeyRing> => {
  const { clock, cacheSeconds, inProcess = new Set<string>(), log, audit, isCurrent, isFresh } = options
  const limits = { ...supervisionLimits, ...options.limits }
  const keys = await openKeys(options)
  const events = createSignerEvents(log, audit)
  const verifier = createBatchVerifier()
  let view: RingView = viewAt(keys, clock())

  /** Only the clock changes states, so replicas agree without communicating. The clock may also be set back. */
  const current = (): RingView => {
    const now = clock()
    if (now < view.from || now >= view.until) view = viewAt(keys, now)
    return view
  }

  const trust = (key: RingKey, now: KeyStatus, reason?: string): void => {
    const before = key.trust
    key.trust = now
    if (reason === undefined) delete key.reason
    else key.reason = reason
    if (before === now) return
    if (now === 'quarantined') key.quarantines++
    view = viewAt(keys, clock())
    events.trustChanged(key, before, view.states.get(key))
    recovery.wake(key.signer)
  }

  const names = new Set(keys.map(({ signer }) => signer))
  const supervisors = new Map(
    [...names]
      .filter((name) => !inProcess.has(name))
      .map((name) => {
        const changed: ConstructorParameters<typeof SignerSupervisor>[3] = (state) => {
          events.circuitChanged(name, state)
          if (state === 'open') recovery.wake(name)
        }
        const own: SupervisionLimits = {
          ...limits,
          get concurrency() {
            return options.providers.get(name)?.concurrency ?? limits.concurrency
          },
        }
        return [name, new SignerSupervisor(name, own, verifier, changed)] as const
      }),
  )
  const { probe, need, hear } = createProbing({ keys, current, supervisors, trust, events, limits, options })
  const recovery = new Recovery({ limits, probe, need })
  for (const [name, { circuit }] of supervisors) if (options.previous?.isAway(name)) circuit.failed(limits.failures)
  for (const key of keys) if (key.reason !== undefined) events.unanswered(key, view.states.get(key))
  for (const name of names) recovery.wake(name)

  return {
    sign: createSign({ view: current, supervisors, distrust: trust, failedOver: events.failedOver, isCurrent }),
    signingKey(purpose, alg) {
      const [key] = current().signing.get(signingName(purpose, alg)) ?? []
      if (key?.opened !== undefined) return key.opened.signing
      throw new Unavailable('keys', 'no', `No active key signs ${purpose} with ${alg}.`)
    },
    publishedKey: (kid) => current().published.get(kid),
    keySet() {
      const { body, etag, published } = current()
      // Caches must not keep a key set that is empty or may be old.
      const isLasting = published.size > 0 && isFresh?.() !== false
      return { body, etag, maxAgeSeconds: isLasting ? cacheSeconds : 0 }
    },
    algorithms: (purpose) => current().advertised.get(purpose) ?? none,
    states: () =>
      [...current().states].map(([{ kid, alg, signer, purposes }, state]) => ({ kid, alg, signer, state, purposes })),
    async probe(signal, signer) {
      const probes = await probe(signal, signer)
      for (const name of names) recovery.wake(name)
      return probes
    },
    hear(proofs) {
      hear(proofs)
      for (const name of names) recovery.wake(name)
    },
    report: () => reportRing(current(), supervisors, options.providers),
    admit(kid, isLate) {
      const key = keys.find((one) => one.kid === kid)
      if (key?.isWithheld !== true) return
      if (isLate) key.notBefore = Math.max(key.notBefore, options.publishedLate?.(kid) ?? -Infinity)
      key.isWithheld = false
      view = viewAt(keys, clock())
    },
    find: (kid) => keys.find((key) => key.kid === kid),
    async [Symbol.asyncDispose]() {
      await recovery.close()
      await verifier.close()
    },
  }
}

const none: readonly JwsAlg[] = []
