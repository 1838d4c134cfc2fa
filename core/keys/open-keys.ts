import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import type { Clock } from '../clock.js'
import { Unavailable } from '../unavailable.js'
import { CallRecord } from './call-record.js'
import { withDeadline } from '../deadline.js'
import { lifetimeFrom, stateAt } from './key-states.js'
import type { JwsAlg } from '../jose/jwk.js'
import { KeyRefused, type KeyPurpose, type KeyState, type PublishedKey, type SignerProvider } from './ports.js'
import { probeKey } from './probe-key.js'
import { BadJwk, checkPublicJwk } from '../jose/public-key-guard.js'
import type { OpenedKey, RingKey } from './ring-key.js'
import type { KeyProof } from './shared-proofs.js'

/** Milliseconds for opening a key and its first probe. Backends may have to log in first. */
const openMs = 5000

/** One entry of `keys`. Times are milliseconds since the epoch; absent means always or never. */
export interface KeyConfiguration {
  readonly kid: string
  readonly alg: JwsAlg
  /** The name of a provider. */
  readonly signer: string
  /** The provider's own name for the key, verbatim. */
  readonly ref: string
  readonly purposes: readonly KeyPurpose[]
  readonly not_before?: number | undefined
  readonly not_after?: number | undefined
  /** The path of its entry in the configuration. */
  readonly path?: string
}

/** The ring that this one replaces. */
export interface PreviousRing {
  /** The same key in the same signer, as it is in that ring. */
  find(key: Pick<KeyConfiguration, 'kid' | 'alg' | 'signer' | 'ref'>): Readonly<RingKey> | undefined
  /** True when this signer is unchanged and did not answer there. */
  isAway(signer: string): boolean
}

export interface OpenKeysOptions {
  /** In order of preference. */
  readonly keys: readonly KeyConfiguration[]
  readonly providers: ReadonlyMap<string, SignerProvider>
  readonly clock: Clock
  /** Seconds for which a token for one of these purposes is accepted after signing, tolerance included. */
  readonly retentionSeconds: (purposes: readonly KeyPurpose[]) => number
  readonly signal: AbortSignal
  /** Keys that were published before, by `kid`. They stay published while their backend is away. */
  readonly known?: ReadonlyMap<string, Omit<PublishedKey, 'purposes'>>
  /** What keys may have signed before, in addition to their current purposes, by `kid`. */
  readonly earlierPurposes?: ReadonlyMap<string, readonly KeyPurpose[]>
  /**
   * Called each time a key is opened. Throws `KeyRefused` when this is not the key that was published as `kid` (F17).
   */
  readonly checkOpened?: (kid: string, thumbprint: string) => void
  /** Tells whether a key must not be published until `admit` is called for it. Absent: none. */
  readonly isWithheld?: ((kid: string) => boolean) | undefined
  /** Called when a key is published that was not published when the ring was opened. Returns when it may sign. */
  readonly publishedLate?: (kid: string) => number
  readonly previous?: PreviousRing | undefined
  /**
   * Tells whether a key that the backend refuses is opened later, as one whose backend does not answer. Absent: none.
   */
  readonly mayBeLate?: ((kid: string, state: KeyState) => boolean) | undefined
  /** Called with the outcome of each later probe of a key that is open. */
  readonly proved?: ((proofs: readonly KeyProof[]) => void) | undefined
}

export interface KeyProblem {
  /** For example `keys[1].ref`, as the operator wrote it. */
  readonly path: string
  readonly message: string
}

/** Keys that cannot be used, all reported at once. */
export class KeysRefused extends Error {
  override readonly name = 'KeysRefused'
  readonly problems: readonly KeyProblem[]

  constructor(problems: readonly KeyProblem[]) {
    super(problems.map(({ path, message }) => `${path}: ${message}`).join('\n'))
    this.problems = problems
  }
}

/**
 * Opens all keys concurrently and probes the active and next ones. A key whose backend cannot be reached is opened
 * later, or stays as it is in the previous ring. Throws `KeysRefused` when any key needs an operator.
 */
export const openKeys = async (options: OpenKeysOptions): Promise<readonly RingKey[]> => {
  const { keys: configured, providers, signal } = options
  const keys = configured.map((key) => unopened(key, options))
  const problems: KeyProblem[] = []
  // All keys listen to this signal at once.
  setMaxListeners(0, signal)
  await Promise.all(
    keys.map(async (key, index) => {
      const path = pathOf(configured, index)
      // The backend may have disabled a retired key or destroyed one that is gone.
      const state = stateAt(key, options.clock())
      if (state === 'gone') return
      const provider = providers.get(key.signer)
      if (provider === undefined) {
        problems.push({ path: `${path}.signer`, message: `there is no signer named ${key.signer}` })
        return
      }
      try {
        key.opened = await openKey(key, provider, signal, options.checkOpened)
        key.trust = 'unproved'
        if (state !== 'retired') await firstProbe(key, signal)
      } catch (error) {
        key.reason = explainKeyError(error)
        const before = options.previous?.find(key)
        const isLate = options.mayBeLate?.(key.kid, state) === true
        // A key that does not work in the previous ring either cannot be lost here.
        if (before !== undefined && (canWait(error) || isLate || before.trust !== 'proved')) takeOver(key, before)
        else if (!canWait(error) && isLate) refuse(key)
        else if (!canWait(error)) problems.push({ path, message: key.reason })
      }
    }),
  )
  problems.push(...repetitions(configured, keys))
  if (problems.length > 0)
    throw new KeysRefused(problems.toSorted((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true })))
  return keys
}

const unopened = (configuration: KeyConfiguration, options: OpenKeysOptions): RingKey => {
  const { kid, alg, signer, ref, purposes } = configuration
  const acceptedFor = [...new Set([...purposes, ...(options.earlierPurposes?.get(kid) ?? [])])]
  const known = options.known?.get(kid)
  return {
    kid,
    alg,
    signer,
    ref,
    purposes,
    acceptedFor,
    ...lifetimeFrom(configuration, options.retentionSeconds(purposes)),
    known: known && { ...known, purposes: acceptedFor },
    calls: new CallRecord(),
    quarantines: 0,
    trust: 'unopened',
    isWithheld: options.isWithheld?.(kid) ?? false,
  }
}

/** It signs nothing until it has been opened again. */
const refuse = (key: RingKey): void => {
  delete key.opened
  key.trust = 'refused'
}

const takeOver = (key: RingKey, before: Readonly<RingKey>): void => {
  // Nothing more can be done for it.
  if (key.opened !== undefined && before.opened === undefined) return
  key.trust = before.trust
  const { opened } = before
  if (opened !== undefined) key.opened ??= { ...opened, published: { ...opened.published, purposes: key.acceptedFor } }
  if (before.probedAt !== undefined) key.probedAt = before.probedAt
}

/** Throws `KeyRefused` or `BadJwk` when it is the wrong key; otherwise the backend's own error. */
export const openKey = async (
  { kid, alg, signer: signerName, ref, acceptedFor: purposes }: RingKey,
  provider: SignerProvider,
  signal: AbortSignal,
  checkOpened?: OpenKeysOptions['checkOpened'],
): Promise<OpenedKey> => {
  const signer = await withDeadline(
    openMs,
    (attempt) => provider.open(ref, alg, attempt),
    () => new Unavailable(`signers.${signerName}`, 'no', `not opened within ${openMs} ms`),
    signal,
  )
  if (signer.alg !== alg) throw new KeyRefused(`the signer opened it for ${signer.alg}`)
  const { jwk, publicKey, thumbprint } = checkPublicJwk(signer.publicJwk, [alg])
  checkOpened?.(kid, thumbprint)
  return { signing: { kid, alg, signerName, signer }, published: { kid, alg, jwk, publicKey, purposes }, thumbprint }
}

const firstProbe = async (key: RingKey, signal: AbortSignal): Promise<void> => {
  const { outcome, cause } = await probeKey(key, openMs, signal)
  if (outcome === 'failed') throw new KeyRefused('its signature does not verify with its public key')
  if (outcome !== 'passed') throw cause
  key.trust = 'proved'
  key.probedAt = performance.now()
}

/** An outage or a deadline may pass. Anything else is a final answer or a broken signer. */
export const canWait = (error: unknown): boolean =>
  error instanceof Unavailable || (error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name))

/** The text is for the operator. */
export const explainKeyError = (error: unknown): string => {
  if (error instanceof KeyRefused || error instanceof BadJwk) return error.message
  return `the signer did not answer: ${error instanceof Error ? error.message : 'unknown error'}`
}

const pathOf = (configured: readonly KeyConfiguration[], index: number): string =>
  configured[index]?.path ?? `keys[${String(index)}]`

/** A `kid` names one key (RFC 7517 §4.5), and a key has the purposes and the lifetime of its single entry. */
const repetitions = (configured: readonly KeyConfiguration[], keys: readonly RingKey[]): KeyProblem[] => {
  const problems: KeyProblem[] = []
  const kids = new Map<string, number>()
  const thumbprints = new Map<string, number>()
  configured.forEach(({ kid }, index) => {
    const sameKid = kids.get(kid)
    if (sameKid === undefined) kids.set(kid, index)
    else
      problems.push({
        path: `${pathOf(configured, index)}.kid`,
        message: `${kid} is also the kid of ${pathOf(configured, sameKid)}`,
      })
    const thumbprint = keys[index]?.opened?.thumbprint
    if (thumbprint === undefined) return
    const sameKey = thumbprints.get(thumbprint)
    if (sameKey === undefined) thumbprints.set(thumbprint, index)
    else
      problems.push({
        path: `${pathOf(configured, index)}.ref`,
        message: `is the same key as ${pathOf(configured, sameKey)}`,
      })
  })
  return problems
}
