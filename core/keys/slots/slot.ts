import type { JwsAlg, PublicJwk } from '../../jose/jwk.js'
import type { KeyPurpose } from '../ports.js'

/** The properties with which a slot's key is made. */
export type SlotForm = Omit<Slot, 'rotate'>

/** An entry of `keys` whose keys Signet makes, announces, uses and retires by itself. */
export interface Slot {
  readonly slot: string
  readonly alg: JwsAlg
  /** The name of the signer in the configuration. */
  readonly signer: string
  readonly purposes: readonly KeyPurpose[]
  /** A template of the name in the backend, with `{slot}`, `{number}`, `{kid}`. */
  readonly ref: string
  readonly rotate: {
    /** How long a key signs. */
    readonly every_days: number
    /** How long a key is published before it signs. */
    readonly announce_days: number
    /** How many published keys wait behind the one that signs. */
    readonly ahead: number
    /** How many keys may exist at a time, retired ones included. */
    readonly max_keys: number
    /** When the backend removes a key, counted from the expiry of its last token. Absent: never. */
    readonly destroy_after_days?: number | undefined
    /** Who makes its keys. Absent: the service. */
    readonly by?: 'service' | 'ceremony' | undefined
  }
}

/**
 * How far a key has come. `planned`: recorded, and perhaps made. `made`: the backend has it. `proved`: its signatures
 * verify with its public half. `published`: replicas publish it. `signing`: it signs from `not_before` to `not_after`;
 * retirement and the expiry of its last token follow from these by the clock. `withdrawn`: it was compromised, and is
 * no longer published. `abandoned`: it never signed, and another number takes its place. `disabled` and `destroyed`:
 * the backend has removed it.
 */
export type SlotStep =
  'planned' | 'made' | 'proved' | 'published' | 'signing' | 'withdrawn' | 'abandoned' | 'disabled' | 'destroyed'

/** The progress of ending what a compromised key has signed. */
export interface SignedEnd {
  readonly stage: 'grants' | 'sessions' | 'attestations' | 'over'
  /** The last record of this stage that was looked at. */
  readonly after?: string
  readonly people: number
  readonly attestations: number
}

/** One key of a slot. Times are milliseconds since the epoch. What it was made with does not change. */
export interface SlotKey {
  readonly number: number
  readonly kid: string
  readonly alg: JwsAlg
  readonly signer: string
  readonly purposes: readonly KeyPurpose[]
  /** The name given to the backend. */
  readonly name: string
  /** How the backend calls it, from `made` on. */
  readonly ref?: string
  readonly step: SlotStep
  /** The calls of `create` so far. */
  readonly attempts: number
  readonly planned_at: number
  /** RFC 7638, from `proved` on. */
  readonly thumbprint?: string
  readonly jwk?: PublicJwk
  /** When replicas were told to publish it. */
  readonly published_at?: number
  /** When the last live replica reported that it publishes it. */
  readonly announced_at?: number
  readonly not_before?: number
  readonly not_after?: number
  /** When it was withdrawn, abandoned or disabled. */
  readonly ended_at?: number
  /** Present from the withdrawal until everything that it signed has ended. */
  readonly ending?: SignedEnd
}

/** Why a slot makes no progress, in words for the operator. */
export interface SlotDelay {
  readonly reason: string
  /** When it was first seen. */
  readonly since: number
  /** No further attempt is made before this time. Absent: not before an operator acts. */
  readonly retry_at?: number
  readonly failures: number
  /** Whether the backend refused, rather than not answered. */
  readonly refused?: boolean
}

/** What an operator asked of a slot, until it is done. */
export interface RotationRequest {
  readonly at: number
  /** The key that must not be trusted any longer. */
  readonly compromised?: string
}

/**
 * Everything about a slot, in one record, so that a step is one atomic change. Only the holder of the lease writes
 * steps: each write names `fence`, which grows with every new holder, so a process that was paused while the lease
 * passed on changes nothing.
 */
export interface SlotRecord {
  readonly slot: string
  readonly fence: number
  readonly lease?: { readonly holder: string; readonly until: number }
  /** The number of the next key. It only grows. */
  readonly next_number: number
  /** In the order of their numbers. */
  readonly keys: readonly SlotKey[]
  readonly delay?: SlotDelay
  readonly request?: RotationRequest
  /** True when an operator has taken the keys back into the file. */
  readonly released?: boolean
  /** When a step was last written. */
  readonly changed_at: number
}

export const withoutLease = ({ lease: _lease, ...record }: SlotRecord): SlotRecord => record
export const withoutDelay = ({ delay: _delay, ...record }: SlotRecord): SlotRecord => record
export const withoutEnding = ({ ending: _ending, ...key }: SlotKey): SlotKey => key
export const withoutRequest = ({ request: _request, ...record }: SlotRecord): SlotRecord => record

/** The steps of keys that nothing trusts any longer. */
export const endedSteps: readonly SlotStep[] = ['withdrawn', 'abandoned', 'disabled', 'destroyed']

export const newSlotRecord = (slot: string, now: number): SlotRecord => ({
  slot,
  fence: 0,
  next_number: 1,
  keys: [],
  changed_at: now,
})

/** What one replica reports every ten seconds. */
export interface ReplicaReport {
  /** Names the process for as long as it runs. */
  readonly replica: string
  /** By its own clock. */
  readonly at: number
  readonly host: string
  readonly pid: number
  /** The same for all processes of a host of which one proves the keys. */
  readonly pool?: string
  /** The `kid`s of slots that it publishes. */
  readonly published: readonly string[]
  /** Those of them that it has proved. */
  readonly proved: readonly string[]
}

/** Milliseconds. A replica that has not reported for this long is not waited for. */
export const replicaSilenceMs = 60_000
/** Milliseconds for which a key may still sign after its successor has begun, on replicas that do not know it yet. */
export const overlapMs = 3_600_000
export const dayMs = 86_400_000

/** The values of a slot's template for one of its keys. */
export const nameOf = ({ slot, ref }: Pick<Slot, 'slot' | 'ref'>, number: number, kid: string): string =>
  ref.replaceAll(/\{(slot|number|kid)\}/g, (_, part: string) =>
    part === 'slot' ? slot : part === 'number' ? String(number) : kid,
  )

export const kidOf = (slot: string, number: number): string => `${slot}-${String(number)}`

/** Whether a slot's template makes this name with some number. */
export const isNameOf = ({ slot, ref }: Pick<Slot, 'slot' | 'ref'>, name: string): boolean => {
  const parts = ref.replaceAll('{slot}', slot).replaceAll('{kid}', `${slot}-{number}`).split('{number}')
  const [first = ''] = parts
  // The template may have the number more than once, and digits beside it.
  const digits = (name.length - parts.join('').length) / (parts.length - 1)
  const number = name.slice(first.length, first.length + digits)
  return /^[1-9]\d{0,15}$/.test(number) && parts.join(number) === name
}

/** The part of a slot's template before its first variable, which all its names share. */
export const prefixOf = (ref: string): string => ref.split('{', 1)[0] ?? ''
