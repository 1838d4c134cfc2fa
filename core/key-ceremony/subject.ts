import type { Config } from '../../config/schema.js'
import type { Salvaged } from '../../config/explain.js'
import type { Problem } from '../../config/problems.js'
import { isKidOf, isSlot, slotsOf } from '../keys/slots/expand-slots.js'
import { aliveKeys, isCurrent, waitingKeys, type Situation } from '../keys/slots/next-step.js'
import { kidOf, nameOf, type Slot, type SlotForm, type SlotKey, type SlotRecord } from '../keys/slots/slot.js'
import { defaultPurposes } from '../../config/keys.js'
import type { JwsAlg } from '../jose/jwk.js'
import { findNearMiss } from '../near-miss.js'
import type { KeyPublications } from '../keys/lifecycle/publications.js'
import type { CeremonyFile } from './ceremony-file.js'

/** The target of a ceremony: a slot, or a fixed `kid`, whose record has the form of a slot's. */
export interface Subject {
  readonly form: SlotForm
  /** The slot of the configuration. Absent for a fixed key. */
  readonly slot?: Slot
  readonly record: SlotRecord | undefined
  /** The key of an interrupted ceremony, which this one continues. */
  readonly begun: SlotKey | undefined
  readonly kid: string
  /** The name given to the backend. */
  readonly name: string
}

export interface KnownRecords {
  readonly publications: KeyPublications
  readonly records: ReadonlyMap<string, SlotRecord>
  readonly situation: (slot: Slot) => Situation
}

type File = Salvaged<CeremonyFile>
type Found = { readonly subject?: Subject; readonly problems: readonly Problem[] }

const meant = (typed: string, names: readonly string[]): string => {
  const near = findNearMiss(typed, names)
  return near === undefined ? '' : `; did you mean ${near}?`
}

/** A blank and a colon are in no name of a slot. */
const recordOfKid = (kid: string): string => `kid:${kid}`

/** Tells whether a `kid` is or was in use outside of the slots that the configuration has. */
export const isTakenIn =
  (config: Config, publications: KeyPublications) =>
  (kid: string): boolean =>
    publications.has(kid) || config.keys.some((entry) => !isSlot(entry) && entry.kid === kid)

const unfinished = (record: SlotRecord | undefined): readonly SlotKey[] =>
  record === undefined ? [] : waitingKeys(record).filter(({ step }) => step === 'planned' || step === 'made')

/** Tells whether nothing can have been made of it. */
export const isOnlyPlanned = ({ step, attempts }: SlotKey): boolean => step === 'planned' && attempts === 0

const findSlot = (file: File & { readonly slot: string }, config: Config, known: KnownRecords): Found => {
  const slots = slotsOf(config)
  const slot = slots.find((one) => one.slot === file.slot)
  if (slot === undefined) {
    const names = slots.map((one) => one.slot)
    return { problems: [{ path: 'slot', message: `there is no slot with this name${meant(file.slot, names)}` }] }
  }
  const problems: Problem[] = []
  if (file.signer !== undefined && file.signer !== slot.signer)
    problems.push({ path: 'signer', message: `the slot has its keys in ${slot.signer}` })
  if (file.alg !== undefined && file.alg !== slot.alg)
    problems.push({ path: 'alg', message: `the keys of the slot sign ${slot.alg}` })
  const record = known.records.get(slot.slot)
  if (record?.released === true)
    problems.push({ path: 'slot', message: 'the slot was released: "signet keys adopt" takes its key back' })
  const begun = unfinished(record).find((key) => isCurrent(slot, key))
  if (
    begun === undefined &&
    record !== undefined &&
    aliveKeys(record, known.situation(slot)).length >= slot.rotate.max_keys
  )
    problems.push({
      path: 'slot',
      message: `it has max_keys: ${String(slot.rotate.max_keys)} keys, and none has expired`,
    })
  const isTaken = isTakenIn(config, known.publications)
  let number = record?.next_number ?? 1
  while (isTaken(kidOf(slot.slot, number))) number++
  const kid = begun?.kid ?? kidOf(slot.slot, number)
  return { problems, subject: { form: slot, slot, record, begun, kid, name: begun?.name ?? nameOf(slot, number, kid) } }
}

const checkKid = (kid: string, config: Config, { publications, records }: KnownRecords): string | undefined => {
  if (config.keys.some((entry) => !isSlot(entry) && entry.kid === kid)) return 'the configuration already has this key'
  const owner = slotsOf(config).find(({ slot }) => isKidOf(slot, kid))
  if (owner !== undefined) return `is a name that the slot ${owner.slot} gives to its keys`
  if (publications.has(kid)) return 'was published before, and a kid never changes its key'
  const before = [...records.values()].flatMap(({ keys }) => keys).find((key) => key.kid === kid)
  if (before === undefined || unfinished(records.get(recordOfKid(kid))).includes(before)) return undefined
  return 'was given to a key before, and a kid never changes its key'
}

interface FixedKey extends Pick<File, 'ref' | 'purposes'> {
  readonly kid: string
  readonly alg: JwsAlg
  readonly signer: string
}

const findFixed = (file: FixedKey, config: Config, known: KnownRecords): Found => {
  const { kid, alg, signer, ref = kid, purposes = defaultPurposes } = file
  const id = recordOfKid(kid)
  const form: SlotForm = { slot: id, alg, signer, ref, purposes: purposes.filter((one) => one !== undefined) }
  const record = known.records.get(id)
  const fault = checkKid(kid, config, known)
  if (fault !== undefined) return { problems: [{ path: 'kid', message: fault }] }
  const begun = unfinished(record).find((key) => !isOnlyPlanned(key))
  if (begun !== undefined && !(isCurrent(form, begun) && begun.name === ref))
    return {
      problems: [
        {
          path: 'kid',
          message:
            'an interrupted ceremony began this key with another signer, algorithm, ref or purposes: repeat that one, or take another kid',
        },
      ],
    }
  return { problems: [], subject: { form, record, begun, kid, name: ref } }
}

/** Finds what the file speaks of in the configuration and the records. Pure. */
export const findSubject = (file: File, config: Config, known: KnownRecords): Found => {
  const { signer, slot, kid, alg } = file
  const problems: Problem[] = []
  const names = Object.keys(config.signers)
  if (signer !== undefined && !names.includes(signer))
    problems.push({ path: 'signer', message: `there is no signer with this name${meant(signer, names)}` })
  const found: Found =
    slot !== undefined
      ? findSlot({ ...file, slot }, config, known)
      : kid !== undefined && alg !== undefined && signer !== undefined
        ? findFixed({ ...file, kid, alg, signer }, config, known)
        : { problems: [] }
  return { ...found, problems: [...problems, ...found.problems] }
}
