import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../clock.js'
import { createAccountDirectory, openAccountStore } from '../interaction/accounts.js'
import type { AccountDirectory, PasswordHasher } from '../interaction/account-directory.js'
import type { PreviousRing, SupervisedKeyRing } from '../keys/key-ring.js'
import { KeyRefused, type SignerProvider } from '../keys/ports.js'
import type { SharedProofs } from '../keys/shared-proofs.js'
import type { ClientDirectory } from '../oauth/clients/client.js'
import type { AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { cacheClients, createClientDirectory } from '../oauth/clients/client-directory.js'
import { collections } from '../collections/collections.js'
import { isEmbedded } from '../collections/stores.js'
import { readInForce, reconcileAccounts, staticAccounts } from '../interaction/configured-accounts.js'
import type { Demo } from '../demo/demo.js'
import { endSubjectIn, subjectLifetime } from '../collections/person-records.js'
import { auditProbes } from '../keys/lifecycle/audited-probes.js'
import {
  describeExchanged,
  describeHeld,
  findEarlierPurposes,
  findPublished,
  holdBack,
  holdLate,
  type KeyInventory,
  type KeyPublication,
} from '../keys/lifecycle/publications.js'
import type { LoadedSigner } from '../modules/load-modules.js'
import { openRing } from '../keys/lifecycle/open-ring.js'
import { createSignerProviders, type SignerProviders } from '../modules/registries.js'
import type { Stores } from '../collections/stores.js'
import { InFlight } from './in-flight.js'
import type { InventoryEntry } from '../keys/lifecycle/inventory.js'
import { expandSlots, isSlot, slotsOf } from '../keys/slots/expand-slots.js'
import type { KeyLogFollower } from '../keys/log/follow-keys.js'
import type { SlotSource } from './slot-source.js'

/** What stays the same while the service runs, and what every generation is made from. */
export interface GenerationSources {
  readonly clock: Clock
  readonly log: Log
  readonly audit: AuditLog
  readonly stores: Stores
  readonly passwords: PasswordHasher
  readonly demo?: Demo | undefined
  /** The publications of keys by `kid`. Keys that are published later are added. */
  readonly publications: Map<string, KeyPublication>
  readonly slots: SlotSource
  /** Present in a worker, which proves its keys together with the others. */
  readonly proofs: SharedProofs | undefined
  /** Present where the deployment has a key log. */
  readonly keyLog: KeyLogFollower | undefined
}

interface OpenSigner {
  readonly loaded: LoadedSigner
  readonly providers: SignerProviders
}

/** What a reload replaces as a whole: the keys, signers, clients and accounts of one reading of the file. */
export interface Generation {
  readonly checked: CheckedConfiguration
  /** The inventory in force. A key that is published later than planned is held back for longer. */
  inventory(): KeyInventory
  readonly signers: ReadonlyMap<string, OpenSigner>
  /** The providers of the signers, whose probes are recorded. */
  readonly providers: ReadonlyMap<string, SignerProvider>
  /** The keys that the configuration and its slots name, before any is held back. */
  readonly entries: readonly InventoryEntry[]
  readonly ring: SupervisedKeyRing
  readonly clients: ClientDirectory
  readonly accounts: AccountDirectory
  /**
   * Applies the passwords of the accounts, and ends what sign-ins with previous passwords had opened. It runs before
   * this generation serves. Throws `Unavailable`.
   */
  reconcileAccounts(): Promise<void>
  /** The requests and probes under way. */
  readonly uses: InFlight
}

/**
 * A signer whose configuration is unchanged stays open, so that there is one session with its backend instead of two.
 */
const isSameSigner = (left: LoadedSigner, right: LoadedSigner): boolean =>
  left.module === right.module && isDeepStrictEqual(left.options, right.options)

const openSigners = async (
  wanted: ReadonlyMap<string, LoadedSigner>,
  running: Generation['signers'],
  sources: GenerationSources,
): Promise<{ readonly signers: Map<string, OpenSigner>; readonly opened: readonly OpenSigner[] }> => {
  const kept = [...wanted].filter(([name, loaded]) => {
    const open = running.get(name)
    return open !== undefined && isSameSigner(open.loaded, loaded)
  })
  const signers = new Map(kept.map(([name]) => [name, running.get(name) as OpenSigner]))
  const opened: OpenSigner[] = []
  try {
    for (const [name, loaded] of wanted) {
      if (signers.has(name)) continue
      const providers = await createSignerProviders(new Map([[name, loaded]]), sources)
      opened.push({ loaded, providers })
      signers.set(name, { loaded, providers })
    }
    return { signers, opened }
  } catch (error) {
    await closeSigners(opened)
    throw error
  }
}

const closeSigners = async (signers: Iterable<OpenSigner>): Promise<void> => {
  await Promise.allSettled([...signers].map(({ providers }) => providers[Symbol.asyncDispose]()))
}

/** Finds the keys that `running` holds with the same signers, which need not be opened again. */
export const findPrevious = (running: Generation, signers: Generation['signers']): PreviousRing => {
  const isKept = (signer: string): boolean => signers.has(signer) && signers.get(signer) === running.signers.get(signer)
  return {
    find({ kid, alg, signer, ref }) {
      const key = running.ring.find(kid)
      return isKept(signer) && key?.alg === alg && key.signer === signer && key.ref === ref ? key : undefined
    },
    isAway: (signer) =>
      isKept(signer) &&
      running.ring.report().signers.some(({ name, circuit }) => name === signer && circuit !== 'closed'),
  }
}

type Keys = Pick<Generation, 'checked' | 'signers' | 'providers' | 'entries' | 'inventory' | 'ring' | 'uses'>

/** Opens the keys that the configuration and the records of its slots name now. Throws like `openGeneration`. */
const openInventory = async (
  { checked, signers, providers }: Pick<Generation, 'checked' | 'signers' | 'providers'>,
  sources: GenerationSources,
  running: Generation | undefined,
): Promise<Keys> => {
  const { config } = checked
  const { clock, log, audit, publications, slots, keyLog } = sources
  const situation = running ? 'running' : 'start'
  const entries = expandSlots(config.keys, slots.records)
  let inventory = holdBack(entries, publications, clock(), situation)
  const checkOpened = (kid: string, thumbprint: string): void => {
    const known = publications.get(kid)
    if (known !== undefined && known.thumbprint !== thumbprint) throw new KeyRefused(describeExchanged(kid, known))
  }
  const publishedLate = (kid: string): number => {
    inventory = holdLate(kid, inventory, entries, publications, clock(), situation)
    for (const held of inventory.held.filter((key) => key.kid === kid))
      log.warn('configuration', { ...describeHeld(held) })
    return inventory.from.get(kid) ?? -Infinity
  }
  const fixed = new Set(config.keys.flatMap((entry) => (isSlot(entry) ? [] : [entry.kid])))
  const ring = await openRing(config, inventory.keys, providers, clock, {
    inProcess: new Set([...signers.values()].flatMap((open) => [...open.providers.inProcess])),
    log,
    audit,
    known: findPublished(entries, publications),
    earlierPurposes: findEarlierPurposes(config, publications, clock()),
    checkOpened,
    publishedLate,
    proved: sources.proofs && ((found) => sources.proofs?.send(found)),
    isWithheld: keyLog && ((kid) => !keyLog.isKnown(kid)),
    previous: running && findPrevious(running, signers),
    ...(slotsOf(config).length > 0 && {
      isCurrent: ({ kid }) => fixed.has(kid) || slots.isRecent(),
      isFresh: () => slots.isFresh(),
      // The backend of this replica may get a key of a slot later than others. The slot waits until it is proved here.
      mayBeLate: (kid, state) => !fixed.has(kid) && (state === 'next' || running !== undefined),
    }),
  })
  return {
    checked,
    signers,
    providers,
    entries,
    inventory: () => inventory,
    ring,
    uses: new InFlight(),
  }
}

/** The running generation with the keys that its slots have now. Throws like `openGeneration`. */
export const withSlotKeys = async (running: Generation, sources: GenerationSources): Promise<Generation> => ({
  ...running,
  ...(await openInventory(running, sources, running)),
})

/**
 * Opens the keys of a configuration and reads its clients and accounts. Signers that `running` has open are shared by
 * both. Throws `ConfigurationError` when a key or signer cannot be used, and `Unavailable`; nothing new stays open
 * then.
 */
export const openGeneration = async (
  checked: CheckedConfiguration,
  sources: GenerationSources,
  running?: Generation,
): Promise<Generation> => {
  const { config, modules } = checked
  const { clock, log, audit, stores, passwords, demo, slots } = sources
  const people = config.accounts.map((account) => ({ ...account, password: account.password.reveal() }))
  const accountStore = openAccountStore(stores.records)
  const inForce = await readInForce(accountStore)
  const accounts = await staticAccounts([...people, ...(demo?.accounts ?? [])], passwords, inForce)
  // The account of a demo lives in memory for as long as its process.
  const shared = accounts.slice(0, people.length)
  const { clients: stored } = collections(stores)
  const { signers, opened } = await openSigners(modules.signers, running?.signers ?? new Map(), sources)
  try {
    const guarded = [...signers].flatMap(([name, { providers }]) => {
      const provider = providers.byName.get(name)
      return provider === undefined ? [] : [[name, auditProbes(name, provider, audit)] as const]
    })
    const providers = new Map(guarded)
    await slots.prepare(config, providers)
    const keys = await openInventory({ checked, signers, providers }, sources, running)
    return {
      ...keys,
      // The embedded store is as fast as a cache, so it needs none.
      clients: createClientDirectory(
        [...checked.clients, ...(demo?.clients ?? [])],
        isEmbedded(config.storage.records) ? stored : cacheClients(stored, clock),
        { profile: config.security_profile, hasPairwiseKey: config.pairwise_key !== undefined, log },
      ),
      accounts: createAccountDirectory({ static: accounts, shared, store: accountStore }),
      reconcileAccounts: () =>
        reconcileAccounts(shared, inForce, {
          store: accountStore,
          end: endSubjectIn(stores, config, clock),
          audit,
          goneSeconds: subjectLifetime(config),
        }),
    }
  } catch (error) {
    await closeSigners(opened)
    throw error
  }
}

/** Closes the ring of `generation`, and the signers that `successor` does not keep, after their last use. */
export const closeGeneration = async (generation: Generation, successor?: Generation): Promise<void> => {
  if (successor !== undefined) await generation.uses.ended()
  await generation.ring[Symbol.asyncDispose]()
  const kept = new Set([...(successor?.signers.values() ?? [])].map(({ providers }) => providers))
  await closeSigners([...generation.signers.values()].filter(({ providers }) => !kept.has(providers)))
}
