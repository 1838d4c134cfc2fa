import { withDeadline } from '../../deadline.js'
import { checkPublicJwk } from '../../jose/public-key-guard.js'
import { verifySignature } from '../../jose/verify-signature.js'
import { Unavailable } from '../../unavailable.js'
import { KeyRefused, type KeyTags, type Signer, type SignerProvider } from '../ports.js'
import { newProbe } from '../probe.js'
import type { NextStep } from './next-step.js'
import {
  kidOf,
  nameOf,
  overlapMs,
  withoutDelay,
  withoutRequest,
  type SignedEnd,
  type SlotForm,
  type SlotKey,
  type SlotRecord,
} from './slot.js'

/** Calls of `create` for one number. Each may have left a key behind that nobody can see yet. */
const mostAttempts = 3
/** Signatures with which a new key is proved. */
export const proofs = 10
/** Milliseconds. A token may take seconds to make an RSA key. */
const createMs = 60_000
export const callMs = 10_000

/** A slot that no retry helps: it waits for an operator. */
export class SlotStopped extends Error {
  override readonly name = 'SlotStopped'
}

export interface StepOptions {
  /** The issuer, for the tags of keys. */
  readonly deployment: string
  readonly providerOf: (signer: string) => SignerProvider | undefined
  /** Whether a `kid` is or was in use outside the slot. */
  readonly isTaken: (kid: string) => boolean
  /**
   * Changes the record under the lease. Each step is recorded before it is taken, and after it. Throws `LeaseLost`,
   * `Unavailable`.
   */
  readonly write: (change: (record: SlotRecord) => SlotRecord) => Promise<SlotRecord>
  readonly now: () => number
  readonly signal: AbortSignal
}

/** Replaces the key with this number; what is undefined in `more` is left out. */
const withKey = (record: SlotRecord, number: number, more: Partial<SlotKey>): SlotRecord => ({
  ...record,
  keys: record.keys.map((key) => (key.number === number ? { ...key, ...more } : key)),
})

/** Calls the backend, which has a limited time and never keeps the lease. */
export const askSigner = <T>(
  { signer }: Pick<SlotKey, 'signer'>,
  milliseconds: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  withDeadline(
    milliseconds,
    work,
    () => new Unavailable(`signers.${signer}`, 'no', `no answer in ${String(milliseconds)} ms`),
    outer,
  )

const providerFor = ({ providerOf }: StepOptions, { signer }: SlotKey): SignerProvider => {
  const provider = providerOf(signer)
  if (provider === undefined) throw new Unavailable(`signers.${signer}`, 'no', 'the configuration has no such signer')
  return provider
}

const plan = (slot: SlotForm, { write, now, isTaken }: StepOptions): Promise<SlotRecord> =>
  write((record) => {
    let number = record.next_number
    while (isTaken(kidOf(slot.slot, number))) number++
    const kid = kidOf(slot.slot, number)
    const { alg, signer, purposes } = slot
    const name = nameOf(slot, number, kid)
    const key: SlotKey = { number, kid, alg, signer, purposes, name, step: 'planned', attempts: 0, planned_at: now() }
    return { ...record, next_number: number + 1, keys: [...record.keys, key] }
  })

const make = async (slot: SlotForm, key: SlotKey, options: StepOptions): Promise<SlotRecord> => {
  const { write, deployment, signal } = options
  const provider = providerFor(options, key)
  const { find, create } = provider
  if (find === undefined || create === undefined)
    throw new SlotStopped(`the signer ${key.signer} cannot hold keys of slots: it cannot make and find them`)
  const tags: KeyTags = { deployment, slot: slot.slot, kid: key.kid }
  const [found] = await askSigner(key, createMs, signal, (limit) =>
    find.call(provider, key.name, limit, key.attempts > 0 ? tags : undefined),
  )
  const made = (ref: string) => write((record) => withoutDelay(withKey(record, key.number, { step: 'made', ref })))
  if (found !== undefined && key.attempts > 0) return made(found)
  if (found !== undefined)
    throw new SlotStopped(
      `${key.signer} already has a key ${key.name}, which no record of the slot knows: take it over with ` +
        `"signet keys adopt --slot ${slot.slot} --kid ${key.kid}", or skip the number with "signet keys rotate --slot ${slot.slot}"`,
    )
  if (key.attempts >= mostAttempts)
    throw new SlotStopped(
      `${key.name} was created ${String(mostAttempts)} times in ${key.signer} and is not there: see "signet keys strays", ` +
        `then skip the number with "signet keys rotate --slot ${slot.slot}"`,
    )
  await write((record) => withKey(record, key.number, { attempts: key.attempts + 1 }))
  try {
    return await made(
      await askSigner(key, createMs, signal, (limit) => create.call(provider, key.name, key.alg, limit, tags)),
    )
  } catch (error) {
    // A refusal says that nothing was created.
    if (error instanceof KeyRefused) await write((record) => withKey(record, key.number, { attempts: key.attempts }))
    throw error
  }
}

/** Throws `KeyRefused` when a signature does not verify, and as the signer does. */
const signProbe = async (key: SlotKey, signer: Signer, signal: AbortSignal): Promise<void> => {
  const { publicKey } = checkPublicJwk(signer.publicJwk, [key.alg])
  const probe = newProbe()
  const signature = await askSigner(key, callMs, signal, (limit) => signer.sign(probe, limit))
  if (!(await verifySignature({ alg: key.alg, jwk: signer.publicJwk, publicKey }, probe, signature)))
    throw new KeyRefused(`a signature of ${key.kid} does not verify with its public key`)
}

const openKey = (key: SlotKey, provider: SignerProvider, signal: AbortSignal): Promise<Signer> =>
  askSigner(key, callMs, signal, (limit) => provider.open(key.ref ?? key.name, key.alg, limit))

const prove = async (key: SlotKey, options: StepOptions): Promise<SlotRecord> => {
  const { write, signal } = options
  const provider = providerFor(options, key)
  const signer = await openKey(key, provider, signal)
  const { jwk, thumbprint } = checkPublicJwk(signer.publicJwk, [key.alg])
  const { inspect } = provider
  if (inspect !== undefined)
    await askSigner(key, callMs, signal, (limit) => inspect.call(provider, key.ref ?? key.name, limit))
  for (let count = 0; count < proofs; count++) await signProbe(key, signer, signal)
  return write((record) => {
    const same = record.keys.find((other) => other.number !== key.number && other.thumbprint === thumbprint)
    if (same !== undefined) throw new SlotStopped(`${key.kid} is the same key as ${same.kid}`)
    return withoutDelay(withKey(record, key.number, { step: 'proved', jwk, thumbprint }))
  })
}

/** The new key signs one more probe, so that it was proved a moment before it takes over. */
const begin = async (key: SlotKey, before: SlotKey | undefined, options: StepOptions): Promise<SlotRecord> => {
  const { write, now, signal } = options
  await signProbe(key, await openKey(key, providerFor(options, key), signal), signal)
  return write((record) => {
    const from = now()
    const begun = withKey(record, key.number, { step: 'signing', not_before: from })
    const ended = before === undefined ? begun : withKey(begun, before.number, { not_after: from + overlapMs })
    // A compromised key is withdrawn in a step of its own.
    return record.request?.compromised === undefined ? withoutRequest(ended) : ended
  })
}

/** The tokens and sessions of the key end afterwards, page by page, because that may outlast a lease. */
const withdraw = ({ number, not_before }: SlotKey, { write, now }: StepOptions): Promise<SlotRecord> => {
  const ending: SignedEnd = { stage: 'grants', people: 0, attestations: 0 }
  const withdrawn = { step: 'withdrawn', ended_at: now(), ...(not_before !== undefined && { ending }) } as const
  return write((record) => withoutRequest(withKey(record, number, withdrawn)))
}

const remove = async (what: 'disable' | 'destroy', key: SlotKey, options: StepOptions): Promise<SlotRecord> => {
  const { write, now, signal } = options
  const { removal } = providerFor(options, key)
  const ref = key.ref ?? key.name
  if (removal !== undefined) await askSigner(key, callMs, signal, (limit) => removal[what](ref, limit))
  const ended = what === 'disable' ? ({ step: 'disabled', ended_at: now() } as const) : ({ step: 'destroyed' } as const)
  return write((record) => withKey(record, key.number, ended))
}

/**
 * Takes one step of a slot under its lease. Each step may be repeated after it was interrupted anywhere. Throws
 * `SlotStopped` when an operator must act, `KeyRefused`, `BadJwk`, `Unavailable`, `LeaseLost`.
 */
export const takeStep = (slot: SlotForm, step: NextStep, options: StepOptions): Promise<SlotRecord> => {
  const { write, now } = options
  switch (step.do) {
    case 'plan':
      return plan(slot, options)
    case 'make':
      return make(slot, step.key, options)
    case 'prove':
      return prove(step.key, options)
    case 'publish':
      return write((record) => withKey(record, step.key.number, { step: 'published', published_at: now() }))
    case 'announce':
      return write((record) => withKey(record, step.key.number, { announced_at: now() }))
    case 'switch':
      return begin(step.key, step.before, options)
    case 'withdraw':
      return withdraw(step.key, options)
    case 'abandon':
      return write((record) => withoutDelay(withKey(record, step.key.number, { step: 'abandoned', ended_at: now() })))
    case 'disable':
    case 'destroy':
      return remove(step.do, step.key, options)
  }
}
