import { performance } from 'node:perf_hooks'
import { ConfigurationError, type Problem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import { withDeadline } from '../deadline.js'
import { stateAt } from '../keys/key-states.js'
import { explainKeyError } from '../keys/open-keys.js'
import { KeyRefused, type KeyState, type PublishedKey, type Signer, type SignerProvider } from '../keys/ports.js'
import { newProbe } from '../keys/probe.js'
import { checkPublicJwk } from '../jose/public-key-guard.js'
import { verifySignature } from '../jose/verify-signature.js'
import { comparePairwiseKey } from '../oauth/subjects/pairwise-key.js'
import { createSubjects } from '../oauth/subjects/subjects.js'
import type { AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'
import type { InventoryEntry } from '../keys/lifecycle/inventory.js'
import { expandSlots, slotsOf } from '../keys/slots/expand-slots.js'
import { kidOf, type SlotRecord } from '../keys/slots/slot.js'
import { readSlots } from '../keys/slots/slot-store.js'
import { Unavailable } from '../unavailable.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { Disposables } from '../disposables.js'
import { collections } from '../collections/collections.js'
import { auditProbes } from '../keys/lifecycle/audited-probes.js'
import { planKeys } from '../keys/lifecycle/plan.js'
import {
  describeExchanged,
  inventoryAtReload,
  readPublications,
  type KeyPublications,
} from '../keys/lifecycle/publications.js'
import type { LoadedSigner } from '../modules/load-modules.js'
import { lifetimeOf } from '../keys/lifecycle/open-ring.js'
import { createSignerProviders } from '../modules/registries.js'
import { deploymentNeeds, describeGap, findGaps } from '../keys/lifecycle/signing-needs.js'
import { proveStore, rolesToProve } from '../collections/prove-stores.js'
import { findStoreWarnings } from '../collections/store-health.js'
import { schemasOf } from '../collections/store-schemas.js'
import { openStores } from '../collections/stores.js'

export interface Part {
  /** `storage.records`, `signers.hsm`. */
  readonly name: string
  /** Milliseconds until it answered. */
  readonly latency?: number
  readonly verdict: string
  readonly sound: boolean
}

export interface KeyExamination {
  readonly kid: string
  readonly signer: string
  readonly alg: string
  readonly state: KeyState
  /** Latencies of the probes, in milliseconds. */
  readonly latency?: { readonly p50: number; readonly p99: number }
  readonly verdict: string
  readonly sound: boolean
}

export interface Examination {
  readonly parts: readonly Part[]
  readonly keys: readonly KeyExamination[]
  /** Each with its path in the configuration. Empty if all is well. */
  readonly problems: readonly Problem[]
  /** Settings that are allowed but probably not intended. */
  readonly warnings: readonly string[]
}

export interface DoctorServices {
  readonly clock: Clock
  readonly log: Log
  /** Records every probe. */
  readonly audit: AuditLog
}

const probes = 10
/** Milliseconds for one answer of a store or signer, including the opening of a key. */
const answerMs = 10_000

/** Gives up on a component that does not answer, whether or not it heeds the signal. */
const inTime = <T>(what: string, call: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  withDeadline(answerMs, call, () => new Unavailable(what, 'no', `no answer within ${String(answerMs)} ms`))

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown error')

/** `ask` may return details about the component. */
const timed = async (name: string, ask: () => Promise<string | void>): Promise<Part> => {
  const startedAt = performance.now()
  try {
    const detail = await ask()
    const latency = performance.now() - startedAt
    return { name, latency, verdict: detail === undefined ? 'ok' : `ok: ${detail}`, sound: true }
  } catch (error) {
    return { name, verdict: reasonOf(error), sound: false }
  }
}

const noWarnings = (error: unknown): ReadonlyMap<string, string> => {
  if (error instanceof Unavailable) return new Map()
  throw error
}

const noKeys = { publications: new Map() as KeyPublications, slots: new Map<string, SlotRecord>() }

const examineStores = async (config: Config, clock: Clock) => {
  const parts: Part[] = []
  const warnings: string[] = []
  const examineStore = async (name: string, ask: (signal: AbortSignal) => Promise<string | void>): Promise<boolean> => {
    const part = await timed(name, () => inTime(name, ask))
    parts.push(part)
    return part.sound
  }
  try {
    await using stores = await inTime('storage', () => openStores(config, clock))
    const examineRole = (role: 'records' | 'ephemeral') =>
      examineStore(`storage.${role}`, async (signal) => {
        await stores[role].ping(signal)
        return stores[role].describe?.()
      })
    const answering = { records: await examineRole('records'), ephemeral: await examineRole('ephemeral') }
    // A component that does not answer is reported once.
    for (const [name, schema] of schemasOf(stores))
      if (answering[name === 'storage.records' ? 'records' : 'ephemeral'])
        await examineStore(`${name}.indexes`, () => schema.check())
    for (const role of rolesToProve(config))
      if (answering[role])
        await examineStore(`storage.${role}.atomic`, async () => {
          const fault = await proveStore(role, config, stores, clock)
          if (fault !== undefined) throw new Error(fault)
        })
    for (const [message, store] of await inTime('storage', () => findStoreWarnings(stores)).catch(noWarnings))
      warnings.push(`${store}: ${message}`)
    if (answering.records && config.pairwise_key !== undefined)
      await examineStore('pairwise_key', async () => {
        const { fingerprint } = createSubjects(config.pairwise_key?.reveal())
        const state = await comparePairwiseKey({ secrets: collections(stores).secrets, fingerprint })
        if (state === 'another') throw new Error('is another one than the service has started with')
        return state === 'new' ? 'new, will be remembered' : undefined
      })
    if (!answering.records) return { parts, warnings, ...noKeys }
    const { publications, keySlots } = collections(stores)
    const known = await inTime('storage.records', async () => ({
      publications: await readPublications(publications),
      slots: await readSlots(keySlots),
    }))
    return { parts, warnings, ...known }
  } catch (error) {
    const name = error instanceof Unavailable ? error.component : 'storage'
    const [problem] = error instanceof ConfigurationError ? error.problems : []
    parts.push({ name: problem?.path ?? name, verdict: problem?.message ?? reasonOf(error), sound: false })
    return { parts, warnings, ...noKeys }
  }
}

/** Each backend is opened once, so that a wrong PIN is tried once. */
const openProvider = async (name: string, loaded: LoadedSigner, services: DoctorServices) => {
  const opening = createSignerProviders(new Map([[name, loaded]]), services)
  const providers = await inTime(`signers.${name}`, () => opening)
  return { provider: providers.byName.get(name), close: () => providers[Symbol.asyncDispose]() }
}

const probeRepeatedly = async (signer: Signer, published: Pick<PublishedKey, 'alg' | 'jwk' | 'publicKey'>) => {
  const latencies: number[] = []
  for (let round = 0; round < probes; round++) {
    const probe = newProbe()
    const startedAt = performance.now()
    const signature = await inTime('key', (signal) => signer.sign(probe, signal))
    latencies.push(performance.now() - startedAt)
    if (!(await verifySignature(published, probe, signature)))
      throw new KeyRefused('its signature does not verify with its public key')
  }
  latencies.sort((a, b) => a - b)
  const at = (part: number): number => latencies[Math.ceil(part * probes) - 1] ?? NaN
  return { p50: at(0.5), p99: at(0.99) }
}

/**
 * Tests everything that a deployment needs outside its process: stores, signers, keys. Never hangs, opens each
 * backend once (a networked store twice, because races need that), and changes nothing.
 */
export const examine = async (checked: CheckedConfiguration, services: DoctorServices): Promise<Examination> => {
  const { config, modules } = checked
  const now = services.clock()
  const { parts, warnings, publications, slots } = await examineStores(config, services.clock)
  const entries = expandSlots(config.keys, slots)
  const inventory = inventoryAtReload(entries, publications, now)
  const thumbprints = new Map<string, string>()
  const disposables = new Disposables()

  const stateOf = (key: InventoryEntry): KeyState => stateAt(lifetimeOf(config, key), now)

  const checkOpened = (key: InventoryEntry, thumbprint: string): void => {
    const known = publications.get(key.kid)
    if (known !== undefined && known.thumbprint !== thumbprint) throw new KeyRefused(describeExchanged(key.kid, known))
    const same = thumbprints.get(thumbprint)
    if (same !== undefined) throw new KeyRefused(`is the same key as ${same}`)
    thumbprints.set(thumbprint, key.kid)
  }

  const examineKey = async (key: InventoryEntry, provider: SignerProvider | undefined): Promise<KeyExamination> => {
    const { kid, alg, signer: name, ref } = key
    const row = { kid, signer: name, alg, state: stateOf(key) }
    if (row.state === 'gone') return { ...row, verdict: 'gone: not checked', sound: true }
    if (provider === undefined) return { ...row, verdict: 'its signer could not be opened', sound: false }
    try {
      const guarded = auditProbes(name, provider, services.audit)
      const signer = await inTime(`signers.${name}`, (signal) => guarded.open(ref, alg, signal))
      const { jwk, publicKey, thumbprint } = checkPublicJwk(signer.publicJwk, [alg])
      checkOpened(key, thumbprint)
      if (row.state === 'retired') return { ...row, verdict: 'ok: no longer signs', sound: true }
      const latency = await probeRepeatedly(signer, { alg, jwk, publicKey })
      return { ...row, latency, verdict: publications.has(kid) ? 'ok' : 'ok: new, will be published', sound: true }
    } catch (error) {
      return { ...row, verdict: explainKeyError(error), sound: false }
    }
  }

  const examineSigner = async (name: string, loaded: LoadedSigner) => {
    const path = `signers.${name}`
    const keys = inventory.keys.filter((key) => key.signer === name)
    let provider: SignerProvider | undefined
    let failure: string | undefined
    try {
      const opened = await openProvider(name, loaded, services)
      disposables.add(opened.close)
      provider = opened.provider
    } catch (error) {
      failure = error instanceof ConfigurationError ? (error.problems[0]?.message ?? '') : reasonOf(error)
    }
    // Opening a key opens the backend, which may be needed before it answers. Keys are opened one by one, for the
    // sake of latencies.
    const examined: KeyExamination[] = []
    for (const key of keys) examined.push(await examineKey(key, provider))
    const opened = provider
    if (opened === undefined)
      return { part: { name: path, verdict: failure ?? 'could not be opened', sound: false }, keys: examined }
    const detail = opened.describe?.()
    const part = await timed(path, async () => {
      await inTime(path, (signal) => opened.ping(signal))
      return detail
    })
    if (part.sound || detail === undefined) return { part, keys: examined }
    return { part: { ...part, verdict: `${part.verdict}; ${detail}` }, keys: examined }
  }

  try {
    const signers = await Promise.all([...modules.signers].map(([name, loaded]) => examineSigner(name, loaded)))
    const rows = signers.flatMap(({ keys }) => keys)
    const order = entries.map(({ kid }) => kid)
    const keys = rows.toSorted((a, b) => order.indexOf(a.kid) - order.indexOf(b.kid))
    const everyPart = [...parts, ...signers.map(({ part }) => part)]
    const planned = inventory.keys.map((key) => ({
      ...key,
      state: stateOf(key),
      notBefore: key.not_before ?? -Infinity,
    }))
    const first = firstKeysOf(config, slots)
    const begun = first.map((key) => ({ ...key, state: 'active' as const, notBefore: -Infinity }))
    const gaps = findGaps(deploymentNeeds(config), [...planned, ...begun])
    // Before anything was published, the start holds no key back.
    const expected = publications.size === 0 ? [...entries, ...first] : entries
    return {
      parts: everyPart,
      keys,
      problems: [
        ...problemsOf(everyPart, keys, entries),
        ...gaps.map((gap) => ({ path: 'keys', message: `${describeGap(gap)}: the service is not ready` })),
      ],
      warnings: [...warnings, ...planKeys(config, expected, publications, now).warnings],
    }
  } finally {
    // The findings are reported even if closing fails.
    await inTime('signers', () => disposables.close()).catch(() => undefined)
  }
}

/** The first keys of slots that no service has made yet: the start makes them. */
const firstKeysOf = (config: Config, records: ReadonlyMap<string, SlotRecord>): readonly InventoryEntry[] =>
  slotsOf(config)
    .filter(({ slot }) => records.get(slot) === undefined)
    .map(({ slot, alg, signer, purposes }) => ({
      ...{ kid: kidOf(slot, 1), alg, signer, purposes: [...purposes], ref: '', allow_early: false, path: 'keys' },
    }))

const problemsOf = (
  parts: readonly Part[],
  keys: readonly KeyExamination[],
  entries: readonly InventoryEntry[],
): readonly Problem[] => [
  ...parts.flatMap(({ name, verdict, sound }) => (sound ? [] : [{ path: name, message: verdict }])),
  ...keys.flatMap(({ verdict, sound }, index) =>
    sound ? [] : [{ path: entries[index]?.path ?? 'keys', message: verdict }],
  ),
]
