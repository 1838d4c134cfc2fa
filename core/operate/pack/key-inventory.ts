import type { Config } from '../../../config/schema.js'
import { isoTime } from '../../clock.js'
import { findAlgorithm } from '../../jose/algorithms.js'
import type { PublicJwk } from '../../jose/jwk.js'
import { checkPublicJwk } from '../../jose/public-key-guard.js'
import { stateAt } from '../../keys/key-states.js'
import { explainKeyError } from '../../keys/open-keys.js'
import { lifetimeOf } from '../../keys/lifecycle/open-ring.js'
import type { KeyPublication, KeyPublications } from '../../keys/lifecycle/publications.js'
import { KeyRefused, type BackendFacts, type KeyPurpose } from '../../keys/ports.js'
import { isSlot } from '../../keys/slots/expand-slots.js'
import { endedSteps, type SlotKey, type SlotRecord } from '../../keys/slots/slot.js'
import type { LoadedSigner } from '../../modules/load-modules.js'
import { askBackend, type Backends } from './backends.js'

/** The answer of a key's backend. */
export type BackendAnswer =
  | {
      readonly status: 'answered'
      /** The thumbprint of the backend's key (RFC 7638). */
      readonly thumbprint: string
      /** Further attributes of the key. They are absent if the backend reports none. */
      readonly facts?: Readonly<Record<string, string | number | boolean>>
    }
  | { readonly status: 'refused' | 'absent' | 'not asked'; readonly reason: string }

/** A key that the deployment has, or had. Times are ISO 8601. */
export interface InventoryKey {
  readonly kid: string
  readonly alg: string
  /** The name of the signer in the configuration, and its module. */
  readonly signer: string
  readonly module?: string
  /** The backend's name for the key. */
  readonly ref?: string
  readonly purposes: readonly KeyPurpose[]
  readonly known_from: readonly ('configuration' | 'slot' | 'publications')[]
  readonly slot?: string
  /** By the clock, or the step of a key of a slot. */
  readonly state: string
  readonly thumbprint?: string
  readonly jwk?: PublicJwk
  readonly times: Readonly<Record<string, string>>
  readonly backend: BackendAnswer
}

/** A signer of the configuration, and what it says of itself. */
export interface InventorySigner {
  readonly signer: string
  readonly module: string
  readonly status: 'answered' | 'absent'
  /** Software, device and versions; absent if it says nothing. */
  readonly facts?: BackendFacts
  readonly reason?: string
}

/** `keys.json`. */
export interface Inventory {
  readonly signers: readonly InventorySigner[]
  readonly keys: readonly InventoryKey[]
}

/** A key as it is known before its backend is asked. */
interface KnownKey {
  readonly key: Omit<InventoryKey, 'backend'>
  /** Tells whether nothing signs with it or trusts it any longer. */
  readonly isEnded: boolean
}

export interface InventoryOptions {
  readonly config: Config
  readonly signers: ReadonlyMap<string, LoadedSigner>
  readonly publications: KeyPublications
  readonly slots: ReadonlyMap<string, SlotRecord>
  readonly backends: Backends
  readonly now: number
}

/** `not_before` of a key that waits is the end of time. */
const showTimes = (times: Readonly<Record<string, number | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(times).flatMap(([name, time]) =>
      time === undefined || !(Math.abs(time) < 8.64e15) ? [] : [[name, isoTime(time)]],
    ),
  )

const publishedTimes = (known: KeyPublication | undefined) => ({
  first_published: known?.first_published,
  may_sign_from: known?.may_sign_from,
  withdrawn: known?.withdrawn,
})

const slotState = ({ step, not_before, not_after }: SlotKey, now: number): string => {
  if (step !== 'signing' || not_before === undefined || not_before > now) return step
  return not_after !== undefined && not_after <= now ? 'retired' : 'signing'
}

type Records = Pick<InventoryOptions, 'config' | 'publications' | 'slots' | 'now'>

const fixedKeys = ({ config, publications, now }: Records): readonly KnownKey[] =>
  config.keys.flatMap((entry) => {
    if (isSlot(entry)) return []
    const { kid, alg, signer, ref, purposes, not_before, not_after } = entry
    const state = stateAt(lifetimeOf(config, entry), now)
    const times = showTimes({ ...publishedTimes(publications.get(kid)), not_before, not_after })
    const key = { kid, alg, signer, ref, purposes, known_from: ['configuration' as const], state, times }
    return [{ key, isEnded: state === 'gone' }]
  })

const slotKey = (key: SlotKey, slot: string, { publications, now }: Records, fixed?: KnownKey): KnownKey => {
  const { kid, alg, signer, ref, purposes, step, thumbprint, jwk, not_before, not_after } = key
  const { planned_at, announced_at, ended_at } = key
  const times = { planned_at, announced_at, ended_at, not_before, not_after }
  return {
    key: {
      ...{ kid, alg, signer, purposes, ...(ref !== undefined && { ref }) },
      known_from: [...(fixed?.key.known_from ?? []), 'slot'],
      ...{ slot, state: slotState(key, now) },
      ...(thumbprint !== undefined && { thumbprint }),
      ...(jwk !== undefined && { jwk }),
      times: { ...fixed?.key.times, ...showTimes({ ...publishedTimes(publications.get(kid)), ...times }) },
    },
    isEnded: endedSteps.includes(step),
  }
}

const publishedKey = (kid: string, published: KeyPublication, before?: KnownKey): KnownKey => {
  const { thumbprint, jwk, entry, withdrawn } = published
  const { alg = 'unknown', signer = 'unknown', purposes = [], not_before, not_after } = entry ?? {}
  return {
    key: {
      ...{ kid, alg, signer, purposes },
      state: withdrawn === undefined ? 'not in the configuration' : 'withdrawn',
      times: showTimes({ ...publishedTimes(published), not_before, not_after }),
      ...before?.key,
      known_from: [...(before?.key.known_from ?? []), 'publications'],
      thumbprint,
      ...(jwk !== undefined && { jwk }),
    },
    isEnded: before?.isEnded ?? true,
  }
}

const findKnown = (records: Records): readonly KnownKey[] => {
  const found = new Map(fixedKeys(records).map((known) => [known.key.kid, known]))
  for (const { slot, keys } of records.slots.values())
    for (const key of keys) found.set(key.kid, slotKey(key, slot, records, found.get(key.kid)))
  for (const [kid, published] of records.publications) found.set(kid, publishedKey(kid, published, found.get(kid)))
  return [...found.values()]
}

const ask = async ({ key, isEnded }: KnownKey, { backends, config }: InventoryOptions): Promise<BackendAnswer> => {
  const { signer, ref } = key
  if (ref === undefined) return { status: 'not asked', reason: 'the name of the key in the backend is not known' }
  if (isEnded) return { status: 'not asked', reason: 'the life of the key is over' }
  const provider = backends.providers.get(signer)
  if (provider === undefined) {
    const isConfigured = config.signers[signer] !== undefined
    const reason =
      backends.absent.get(signer) ?? (isConfigured ? 'it was not opened' : 'the configuration has no such signer')
    return { status: 'absent', reason }
  }
  const alg = findAlgorithm(key.alg)
  if (alg === undefined) return { status: 'not asked', reason: 'its algorithm is not known' }
  try {
    const { publicJwk } = await askBackend(signer, (signal) => provider.open(ref, alg, signal))
    const { thumbprint } = checkPublicJwk(publicJwk, [alg])
    const { inspect } = provider
    if (inspect === undefined) return { status: 'answered', thumbprint }
    return {
      status: 'answered',
      thumbprint,
      facts: await askBackend(signer, (signal) => inspect.call(provider, ref, signal)),
    }
  } catch (error) {
    return { status: error instanceof KeyRefused ? 'refused' : 'absent', reason: explainKeyError(error) }
  }
}

const maskBy = (signers: InventoryOptions['signers'], name: string, reason: string): string =>
  signers.get(name)?.mask(reason) ?? reason

const askSigner = async (name: string, { config, backends, signers }: InventoryOptions): Promise<InventorySigner> => {
  const row = { signer: name, module: config.signers[name]?.use ?? '' }
  const provider = backends.providers.get(name)
  if (provider === undefined)
    return { ...row, status: 'absent', reason: backends.absent.get(name) ?? 'it was not opened' }
  const { facts } = provider
  try {
    if (facts === undefined) return { ...row, status: 'answered' }
    return { ...row, status: 'answered', facts: await askBackend(name, (signal) => facts.call(provider, signal)) }
  } catch (error) {
    return { ...row, status: 'absent', reason: maskBy(signers, name, explainKeyError(error)) }
  }
}

/**
 * Every signer, and every key of the configuration, the slots and the publications, with what its backend says of it
 * now. A backend that does not answer is said to be absent; nothing is left out.
 */
export const takeInventory = async (options: InventoryOptions): Promise<Inventory> => {
  const { signers, config } = options
  const found: InventoryKey[] = []
  // One by one, since some backends have one session.
  for (const known of findKnown(options)) {
    const { key } = known
    const backend = await ask(known, options)
    const module = config.signers[key.signer]?.use
    const reason = 'reason' in backend ? maskBy(signers, key.signer, backend.reason) : ''
    found.push({
      ...key,
      ...(module !== undefined && { module }),
      backend: 'reason' in backend ? { ...backend, reason } : backend,
    })
  }
  const asked: InventorySigner[] = []
  for (const name of Object.keys(config.signers)) asked.push(await askSigner(name, options))
  return { signers: asked, keys: found }
}
