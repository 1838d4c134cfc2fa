import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../clock.js'
import type { SignerProvider } from '../keys/ports.js'
import { newSlotRecord, type SlotForm, type SlotKey, type SlotRecord } from '../keys/slots/slot.js'
import { LeaseLost, releaseLease, takeLease, writeStep, type Lease } from '../keys/slots/slot-store.js'
import { SlotStopped, takeStep, type StepOptions } from '../keys/slots/take-step.js'
import type { RecordStore } from '../storage/ports.js'
import { CeremonyRefused } from './ceremony-refused.js'
import { isOnlyPlanned, type Subject } from './subject.js'

/** Milliseconds for which a ceremony waits for a process that takes a step of the slot. */
const leaseWaitMs = 15_000
const pollMs = 200

export interface MakeKeyOptions {
  readonly store: RecordStore<SlotRecord>
  readonly clock: Clock
  /** The issuer, for the tags of keys. */
  readonly deployment: string
  readonly provider: SignerProvider
  readonly isTaken: (kid: string) => boolean
  readonly signal: AbortSignal
  /**
   * Called with the proved key before it is recorded as proved, so that no key is used whose transcript could not be
   * written.
   */
  readonly attest: (key: SlotKey) => Promise<void>
}

const hold = async (store: RecordStore<SlotRecord>, id: string, clock: Clock) => {
  const holder = randomUUID()
  for (let waited = 0; ; waited += pollMs) {
    const taken = await takeLease(store, id, holder, clock())
    if (taken !== undefined) return taken
    if (waited >= leaseWaitMs)
      throw new CeremonyRefused('Another process works on the slot: repeat the ceremony in two minutes.')
    await delay(pollMs)
  }
}

/** A fixed key has the name that the file gives to it; that of a slot, the next number. */
const planFixed =
  ({ form, kid, name }: Subject, now: number) =>
  (record: SlotRecord): SlotRecord => {
    const { alg, signer, purposes } = form
    const key: SlotKey = { number: 1, kid, alg, signer, purposes, name, step: 'planned', attempts: 0, planned_at: now }
    return { ...record, next_number: 2, keys: [key] }
  }

const words = (error: unknown, { slot }: Subject): unknown => {
  if (error instanceof LeaseLost)
    return new CeremonyRefused('An operator or another process changed the slot meanwhile: repeat the ceremony.')
  if (!(error instanceof SlotStopped)) return error
  // Its advice is about slots.
  return new CeremonyRefused(
    slot === undefined
      ? 'The backend has a key of this name that no ceremony made, or shows none after three attempts: take another kid and ref.'
      : error.message,
  )
}

/** Makes and proves the key under the lease, by the steps of the service, from where an earlier ceremony stopped. */
const takeSteps = async (
  subject: Subject,
  taken: { readonly lease: Lease; readonly record: SlotRecord },
  options: MakeKeyOptions,
): Promise<SlotKey> => {
  const { store, clock, deployment, provider, isTaken, signal, attest } = options
  const form: SlotForm = subject.form
  let { record } = taken
  const write: StepOptions['write'] = async (change) =>
    (record = await writeStep(store, form.slot, taken.lease, clock(), change))
  const steps: StepOptions = { deployment, providerOf: () => provider, isTaken, write, now: clock, signal }
  const current = (): SlotKey => {
    const key = record.keys.find(({ kid }) => kid === subject.kid)
    if (key === undefined) throw new LeaseLost('the record has changed')
    return key
  }
  if (subject.begun === undefined) {
    if (subject.slot === undefined) await write(planFixed(subject, clock()))
    else await takeStep(form, { do: 'plan' }, steps)
  }
  if (current().step === 'planned') await takeStep(form, { do: 'make', key: current() }, steps)
  if (current().step !== 'made') throw new LeaseLost('the record has changed')
  const proving: StepOptions = {
    ...steps,
    async write(change) {
      const proved = change(record).keys.find(({ kid }) => kid === subject.kid)
      if (proved !== undefined) await attest(proved)
      return write(change)
    },
  }
  await takeStep(form, { do: 'prove', key: current() }, proving)
  return current()
}

/** As the service does, so that an operator can skip the number with "signet keys rotate". */
const recordStop = async (
  { store, clock }: Pick<MakeKeyOptions, 'store' | 'clock'>,
  lease: Lease,
  id: string,
  { message: reason }: SlotStopped,
): Promise<void> => {
  const delay = { reason, since: clock(), failures: 1, refused: true }
  await writeStep(store, id, lease, clock(), (record) => ({ ...record, delay }))
}

/**
 * Makes the key of a ceremony, unless an interrupted one has, and proves it with ten signatures. Throws
 * `CeremonyRefused`, `KeyRefused`, `Unavailable`; what was made until then is continued by the next ceremony.
 */
export const makeKey = async (subject: Subject, options: MakeKeyOptions): Promise<SlotKey> => {
  const { store, clock } = options
  const id = subject.form.slot
  const taken = await hold(store, id, clock)
  try {
    const known = subject.record ?? newSlotRecord(id, clock())
    // The people confirmed a key by its name.
    if (taken.record.next_number !== known.next_number || isOther(taken.record, subject))
      throw new LeaseLost('the record has changed')
    return await takeSteps(subject, taken, options)
  } catch (error) {
    if (error instanceof SlotStopped && subject.slot !== undefined) await recordStop(options, taken.lease, id, error)
    throw words(error, subject)
  } finally {
    await releaseLease(store, id, taken.lease).catch(() => undefined)
  }
}

/** A fixed key that was only planned is planned again. */
const isOther = ({ keys }: SlotRecord, { begun, kid, slot }: Subject): boolean => {
  const found = keys.find((key) => key.kid === kid && !(slot === undefined && isOnlyPlanned(key)))
  return found?.step !== begun?.step
}
