import { resolve } from 'node:path'
import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import { findMissingStore } from '../collections/stores.js'
import { isSlot, slotsOf } from '../keys/slots/expand-slots.js'
import { isNameOf, prefixOf, type SlotKey, type SlotRecord } from '../keys/slots/slot.js'
import { readSlots } from '../keys/slots/slot-store.js'
import { KeyRefused, type BackendKey, type SignerProvider } from '../keys/ports.js'
import { loadModules } from '../modules/load-modules.js'
import { createSignerProviders } from '../modules/registries.js'
import { noLog } from '../observe/log.js'
import { ConfigurationError } from '../../config/problems.js'
import { readDeployment, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { printTable } from './table.js'

export interface StrayKeysOptions extends DeploymentOptions {
  readonly json?: true
}

interface StrayKey extends BackendKey {
  readonly signer: string
}

/** Milliseconds for one signer. A KMS is asked about each of its keys. */
const listMs = 120_000

type Records = ReadonlyMap<string, SlotRecord>

/** Before the first start there are no records. A store that is away must not make every key a stray. */
const readRecords = async (config: Config): Promise<Records> => {
  if ((await findMissingStore(config)) !== undefined) return new Map()
  return withStores(config, (stores) => readSlots(collections(stores).keySlots))
}

type Slots = ReadonlySet<ReturnType<typeof slotsOf>[number]>

/** The signers of slots and of the keys that slots have had, with these slots. */
const slotsBySigner = (config: Config, records: Records): ReadonlyMap<string, Slots> => {
  const slots = new Map<string, Set<ReturnType<typeof slotsOf>[number]>>()
  for (const slot of slotsOf(config)) {
    const before = records.get(slot.slot)?.keys.map(({ signer }) => signer) ?? []
    for (const signer of [slot.signer, ...before])
      if (config.signers[signer] !== undefined) slots.set(signer, (slots.get(signer) ?? new Set()).add(slot))
  }
  return slots
}

/** The keys with a tag of this deployment, or, where a backend has no tags, with a name that one of the slots could have made. */
const listKeys = async (
  list: (prefix: string) => Promise<readonly BackendKey[]>,
  slots: Slots,
): Promise<Iterable<BackendKey>> => {
  const listed = new Map<string, BackendKey>()
  for (const prefix of new Set([...slots].map(({ ref }) => prefixOf(ref))))
    for (const key of await list(prefix))
      if (key.tags !== undefined || [...slots].some((slot) => isNameOf(slot, key.name ?? key.ref)))
        listed.set(key.ref, key)
  return listed.values()
}

/** Returns whether the record is that of this key. The name identifies a key whose creation was only attempted. */
const isRecorded = (record: SlotKey, { ref, name, tags }: BackendKey): boolean => {
  if (record.ref !== undefined) return record.ref === ref
  if (record.step !== 'planned' || record.attempts === 0) return false
  return record.name === (name ?? ref) || tags?.kid === record.kid
}

/** The `ref`s by which the backend calls the fixed keys of the file, which may name them otherwise. */
const fixedRefs = async (config: Config, signer: string, provider: SignerProvider, signal: AbortSignal) => {
  const refs = config.keys.flatMap((entry) => (isSlot(entry) || entry.signer !== signer ? [] : [entry.ref]))
  const found = await Promise.all(
    refs.map(async (ref) => {
      try {
        return (await provider.find?.(ref, signal)) ?? []
      } catch (error) {
        // Disabled or half of a pair: no other key is meant.
        if (error instanceof KeyRefused) return []
        throw error
      }
    }),
  )
  return new Set([...refs, ...found.flat()])
}

const findStrays = async (
  config: Config,
  records: Records,
  providers: ReadonlyMap<string, SignerProvider>,
): Promise<readonly StrayKey[]> => {
  const strays: StrayKey[] = []
  const recorded = [...records.values()].flatMap(({ keys }) => keys)
  for (const [signer, slots] of slotsBySigner(config, records)) {
    const provider = providers.get(signer)
    const list = provider?.list?.bind(provider)
    if (provider === undefined || list === undefined)
      throw new CommandFailed(`The signer ${signer} cannot list its keys.`)
    const signal = AbortSignal.timeout(listMs)
    const fixed = await fixedRefs(config, signer, provider, signal)
    const known = recorded.filter((key) => key.signer === signer)
    for (const key of await listKeys((prefix) => list(prefix, config.issuer, signal), slots))
      if (!fixed.has(key.ref) && !known.some((record) => isRecorded(record, key))) strays.push({ signer, ...key })
  }
  return strays
}

/** Implements `signet keys strays`. The exit code is 1 when there are any. */
export const printStrays = async (options: StrayKeysOptions): Promise<void> => {
  const config = await readDeployment(options)
  const records = await readRecords(config)
  const { signers, problems } = await loadModules({ plugins: [], signers: config.signers }, resolve(options.config))
  if (problems.length > 0) throw new ConfigurationError(problems)
  await using opened = await createSignerProviders(signers, { clock: Date.now, log: noLog })
  const strays = await findStrays(config, records, opened.byName)
  if (strays.length > 0) process.exitCode = 1
  if (options.json) return printJson(strays)
  if (strays.length === 0) return print('No strays.')
  printTable(
    ['SIGNER', 'REF', 'NAME', 'SLOT', 'KID', 'DISABLED'],
    strays.map(({ signer, ref, name = '', tags, disabled }) => [
      ...[signer, ref, name, tags?.slot ?? '', tags?.kid ?? ''],
      disabled === undefined ? '' : disabled ? 'yes' : 'no',
    ]),
  )
}
