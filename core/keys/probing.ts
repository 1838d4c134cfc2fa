import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import type { SignerEvents } from './signer-events.js'
import { proofOf, type KeyProof } from './shared-proofs.js'
import type { RingView } from './key-states.js'
import { canWait, explainKeyError, openKey, type OpenKeysOptions } from './open-keys.js'
import { probeKey, type KeyProbe } from './probe-key.js'
import type { RecoveryOptions } from './recovery.js'
import type { KeyStatus, RingKey } from './ring-key.js'
import type { SignerSupervisor, SupervisionLimits } from './signer-supervisor.js'

export interface ProbingOptions {
  readonly keys: readonly RingKey[]
  readonly current: () => RingView
  readonly supervisors: ReadonlyMap<string, SignerSupervisor>
  readonly trust: (key: RingKey, trust: KeyStatus, reason?: string) => void
  readonly events: SignerEvents
  readonly limits: Pick<SupervisionLimits, 'attemptMs'>
  readonly options: Pick<OpenKeysOptions, 'providers' | 'checkOpened' | 'publishedLate' | 'proved'>
}

interface HearingOptions {
  readonly keys: readonly RingKey[]
  readonly signs: (key: RingKey) => boolean
  readonly learn: (key: RingKey, proof: KeyProof) => void
}

/**
 * Takes the word of another process. A key that failed there signs again when this process has proved it, whatever
 * becomes of it there: only that process may have lost its backend.
 */
const createHearing = ({ keys, signs, learn }: HearingOptions): ((proofs: readonly KeyProof[]) => void) => {
  /** Keys that failed in another process and have not passed there since. */
  const doubted = new Set<RingKey>()
  return (proofs) => {
    for (const proof of proofs) {
      const key = keys.find(({ kid, opened }) => kid === proof.kid && opened?.thumbprint === proof.thumbprint)
      if (key === undefined) continue
      const isNews = proof.outcome === 'passed' || !doubted.has(key)
      if (proof.outcome === 'passed') doubted.delete(key)
      else doubted.add(key)
      if (isNews && key.trust === 'proved' && key.reason === undefined && signs(key)) learn(key, proof)
    }
  }
}

/** Opens keys that are not open, probes active and next ones, and keeps the results for each key and signer. */
export const createProbing = ({ keys, current, supervisors, trust, events, limits, options }: ProbingOptions) => {
  const stateOf = (key: RingKey) => current().states.get(key)
  const signs = (key: RingKey): boolean => stateOf(key) === 'active' || stateOf(key) === 'next'
  const of = (signer: string | undefined) => keys.filter((key) => signer === undefined || key.signer === signer)

  const openLate = async (key: RingKey, signal: AbortSignal): Promise<void> => {
    const provider = options.providers.get(key.signer)
    if (provider === undefined) return
    try {
      const opened = await openKey(key, provider, signal, options.checkOpened)
      const same = keys.find((other) => other !== key && other.opened?.thumbprint === opened.thumbprint)
      if (same !== undefined) return trust(key, 'refused', `is the same key as ${same.kid}`)
      // Published from now on if it was not before. It signs after it has passed a probe and relying parties can know
      // it.
      if (key.known === undefined)
        key.notBefore = Math.max(key.notBefore, options.publishedLate?.(key.kid) ?? -Infinity)
      key.opened = opened
      trust(key, 'unproved')
    } catch (error) {
      trust(key, canWait(error) ? 'unopened' : 'refused', explainKeyError(error))
    }
  }

  /** Readiness and recovery may ask for the same key at once. It is opened once, and both get the same result. */
  const opening = new Map<RingKey, Promise<void>>()
  const openOnce = (key: RingKey, signal: AbortSignal): Promise<void> => {
    const pending = opening.get(key) ?? openLate(key, signal).finally(() => opening.delete(key))
    opening.set(key, pending)
    return pending
  }

  const learn = (key: RingKey, { outcome, reason }: Pick<KeyProof, 'outcome' | 'reason'>): void => {
    key.probedAt = performance.now()
    if (outcome === 'passed') trust(key, 'proved')
    else if (outcome === 'failed') trust(key, 'quarantined', 'its signature does not verify with its published key')
    else if (outcome === 'refused') trust(key, 'refused', reason)
    else {
      const silent = key.reason !== undefined
      key.reason = reason ?? 'the signer did not answer'
      if (!silent) events.unanswered(key, stateOf(key))
    }
  }

  /** Learns what this process found out, and tells the others. */
  const learnOwn = (key: RingKey, probe: KeyProbe): void => {
    const proof = proofOf(key, probe)
    // The attempt to open it has already recorded the reason.
    if (proof === undefined) return
    learn(key, proof)
    if (proof.outcome === 'unavailable') supervisors.get(key.signer)?.circuit.failed(1)
    options.proved?.([proof])
  }

  const hear = createHearing({ keys, signs, learn })

  const probeSigner = async (signal: AbortSignal, signer: string): Promise<readonly KeyProbe[]> => {
    const circuit = supervisors.get(signer)?.circuit
    circuit?.probe()
    const own = of(signer)
    const unopened = own.filter((key) => key.opened === undefined && stateOf(key) !== 'gone')
    await Promise.all(unopened.map((key) => openOnce(key, signal)))
    const probes = await Promise.all(
      own.filter(signs).map(async (key) => {
        const done = await probeKey(key, limits.attemptMs, signal)
        // An aborted probe says nothing about the key.
        if (!signal.aborted) learnOwn(key, done)
        return done
      }),
    )
    // One key that signs shows that the backend answers. A failure of another key concerns that key only.
    circuit?.probed(probes.some(({ outcome }) => outcome !== 'unavailable'))
    return probes
  }

  const probe = async (signal: AbortSignal, signer?: string): Promise<readonly KeyProbe[]> => {
    // All keys listen to this signal at once.
    setMaxListeners(0, signal)
    const signers = [...new Set(of(signer).map((key) => key.signer))]
    const probes = (await Promise.all(signers.map((name) => probeSigner(signal, name)))).flat()
    const order = new Map(keys.map(({ kid }, index) => [kid, index]))
    return probes.sort((a, b) => (order.get(a.kid) ?? 0) - (order.get(b.kid) ?? 0))
  }

  const need: RecoveryOptions['need'] = (signer) => {
    const circuit = supervisors.get(signer)?.circuit.state ?? 'closed'
    const wanting = of(signer).filter((key) => (key.opened === undefined ? stateOf(key) !== 'gone' : signs(key)))
    const trusts = new Set(wanting.map((key) => key.trust))
    if (circuit !== 'closed' || trusts.has('unopened') || trusts.has('unproved')) return 'soon'
    const silent = wanting.some(({ trust: now, reason }) => now === 'proved' && reason !== undefined)
    return silent || trusts.has('quarantined') || trusts.has('refused') ? 'later' : undefined
  }

  return { probe, need, hear }
}
