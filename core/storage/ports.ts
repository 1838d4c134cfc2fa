/**
 * The ports of stores. All methods throw `Unavailable`, and nothing else, when the store is down, slow or full. Reads
 * apply expiry: an expired entry is not found. Ids are opaque strings of 1 to 512 characters; callers hash secrets
 * first. Records are JSON values.
 */

export type Redemption<T> =
  | { readonly outcome: 'won'; readonly record: T }
  | { readonly outcome: 'replayed'; readonly record: T }
  | { readonly outcome: 'unknown' }

/** Records that are used once: authorization codes, interactions, enrolment challenges. */
export interface OneTimeStore<T> {
  /** Stores a record for `ttlSeconds`. Durable when it resolves. An id that already exists is a bug and throws. */
  put(id: string, record: T, ttlSeconds: number): Promise<void>
  /** The record, redeemed or not, until it expires. */
  find(id: string): Promise<T | undefined>
  /** Like `find`, but does not return a redeemed record. */
  findUnused(id: string): Promise<T | undefined>
  /** Of N callers in any number of processes, one gets `won`, the others `replayed`. Durable before it resolves. */
  redeem(id: string): Promise<Redemption<T>>
}

/** Remembers ids that must not be used twice: client assertions (RFC 7523 §3), DPoP proofs (RFC 9449 §11.1). */
export interface ReplayGuard {
  /** True for the first caller within `ttlSeconds`, false for all others. */
  claim(namespace: string, id: string, ttlSeconds: number): Promise<boolean>
}

/**
 * A guard that may lose its memory: a store that answers before it has written, whose replica missed writes, or whose
 * clock is set back behind what has expired. It knows when that happened, and does not vouch for ids that may have
 * been claimed earlier. A `ReplayGuard` never forgets.
 */
export interface EphemeralReplayGuard {
  /**
   * Like `ReplayGuard.claim`. `earliest` is the earliest time at which any process, whatever its clock, could have
   * accepted the id, in milliseconds since the epoch. Throws `Unavailable` when a claim from that time may be
   * forgotten.
   */
  claim(namespace: string, id: string, ttlSeconds: number, earliest: number): Promise<boolean>
  /** Since when every claim is remembered (epoch ms), in all processes. Throws `Unavailable` until that is known. */
  since?(): number
}

/** One chain of rotated refresh tokens (RFC 9700 §4.14). Hashes only: the store never sees a token. */
export interface RefreshFamily<T> {
  readonly grant: T
  /** Hash of the only live token. */
  readonly current: string
  /** Hash of the token that `current` replaced, with what derived the successor, for an honest retry. */
  readonly previous?: { readonly hash: string; readonly salt: string; readonly rotatedAt: number }
  /** Milliseconds since the epoch. Rotations do not move it (RFC 9700 §4.14). */
  readonly absoluteExpiry: number
}

export interface Rotation {
  /** Hash of the presented token, which the store compares with `current` in the same atomic step. */
  readonly presented: string
  /**
   * Hash of the successor and the salt that derived it. If absent, the token stays and its idle time restarts, within
   * a hundredth, so that a store need not write at each use.
   */
  readonly successor?: { readonly hash: string; readonly salt: string }
  /** Seconds from now; never past `absoluteExpiry`. */
  readonly idleTtlSeconds: number
}

export interface RefreshFamilyStore<T> {
  /** Starts a family. It lives until the idle or the absolute time is over, whichever comes first. */
  start(family: string, record: RefreshFamily<T>, idleTtlSeconds: number): Promise<void>
  find(family: string): Promise<RefreshFamily<T> | undefined>
  /** `won`: `presented` was current and is now replaced. `replayed`: it was not, and the record is unchanged. */
  rotate(family: string, rotation: Rotation): Promise<Redemption<RefreshFamily<T>>>
  /** Ends the family. Idempotent. */
  remove(family: string): Promise<void>
}

/** When something began that may have been ended by `revokeBefore`. */
export interface Began {
  /** The id given to `revokeBefore`. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/**
 * What was ended early: grants (all tokens of one authorization), single tokens by `jti`, and everything that a
 * subject began before some time. One record ends a grant, so a grant is never half revoked. The store accepts a
 * revocation even when it is full.
 */
export interface RevocationStore {
  revoke(id: string, ttlSeconds: number): Promise<void>
  /**
   * Ends everything that began under this id before `before`, in milliseconds since the epoch. A second call never
   * moves that time back and never shortens the record's life. The id must not be one that `revoke` is called with.
   */
  revokeBefore(id: string, before: number, ttlSeconds: number): Promise<void>
  /** True when any of the ids is revoked, or when `began` is before the time set for its id. This is a single query. */
  isRevoked(ids: readonly string[], began?: Began): Promise<boolean>
  /** The time that `revokeBefore` set for this id. */
  endedBefore(id: string): Promise<number | undefined>
}

/** Records that are stored and replaced as a whole and found by id only: sessions. */
export interface RecordLookup<T> {
  find(id: string): Promise<T | undefined>
  /** False, and no change, if `onlyIfAbsent` and the id exists. Kept for ever without `ttlSeconds`. */
  put(
    id: string,
    record: T,
    options?: { readonly ttlSeconds?: number; readonly onlyIfAbsent?: boolean },
  ): Promise<boolean>
  /** Returns true when there was one. */
  remove(id: string): Promise<boolean>
}

/** Called with the record and when it expires: undefined if it is kept for ever or does not exist. */
export type RecordDecision<T, Result> = (
  current: T | undefined,
  expiresAt?: number,
) => {
  readonly result: Result
  /** The new record, until `expiresAt` (epoch ms) or for ever. Null removes it; absent: no change. */
  readonly write?: { readonly record: T; readonly expiresAt?: number | undefined } | null
}

/** A `RecordLookup` that can also be listed and updated: clients, accounts, consents. */
export interface RecordStore<T> extends RecordLookup<T> {
  /** Like `CounterStore.update`, for a record. Durable when it resolves. */
  update<Result>(id: string, decide: RecordDecision<T, Result>): Promise<Result>
  /** Like many calls of `put` in few steps: those before a failure may be stored. Absent: `put` is called. */
  putAll?(all: readonly { readonly id: string; readonly record: T; readonly ttlSeconds?: number }[]): Promise<void>
  /** At most `limit` records in the order of ids, starting after `after`. */
  list(after: string | undefined, limit: number): Promise<readonly { readonly id: string; readonly record: T }[]>
}

/** The decision of a caller of `CounterStore.update` about a state. */
export interface CounterStep<State, Result> {
  readonly result: Result
  /** The new state, until `forgetAt` (epoch ms). Null removes it; absent: no change. */
  readonly write?: { readonly state: State; readonly forgetAt: number } | null
}

/** Called with the state, the store's time, and when the state expires. */
export type CounterDecision<State, Result> = (
  current: State | undefined,
  now: number,
  forgetAt: number | undefined,
) => CounterStep<State, Result>

/** Small states that many callers change concurrently: counts of guesses, of requests, of used slots. */
export interface CounterStore {
  /**
   * Reads, decides and writes in one atomic step over all processes, by the store's clock. `decide` must be pure: it
   * is called again when another caller was faster. If it throws, `update` rejects with that error and nothing
   * changes.
   */
  update<State, Result>(namespace: string, id: string, decide: CounterDecision<State, Result>): Promise<Result>
}

export interface AttemptPolicy {
  /** Attempts without a delay. */
  readonly free: number
  /** Delay after the first attempt beyond `free`. Each further one doubles it, up to `maxDelaySeconds`. */
  readonly baseDelaySeconds: number
  readonly maxDelaySeconds: number
  /** Everything is forgotten after this long without an attempt. */
  readonly forgetAfterSeconds: number
}

/** Counts guesses at a secret, over all processes. */
export interface AttemptLimiter {
  /** Counts one attempt atomically. An attempt within the delay is refused and not counted. */
  take(
    namespace: string,
    id: string,
    policy: AttemptPolicy,
  ): Promise<{ readonly allowed: boolean; readonly retryAfterSeconds: number }>
  /** Forgets the attempts, after a success. */
  clear(namespace: string, id: string): Promise<void>
  /** Takes back the caller's own attempt, which was right. The delay and the time of forgetting do not move. */
  giveBack(namespace: string, id: string): Promise<void>
}

export type Entered =
  /** `until`: when the slot becomes free by itself, in milliseconds since the epoch. */
  { readonly allowed: true; readonly until: number } | { readonly allowed: false; readonly retryAfterSeconds: number }

export interface EntryPolicy {
  readonly most: number
  readonly bytes: number
  readonly mostBytes: number
  /** A slot becomes free after this time, or up to a sixteenth of it later. */
  readonly ttlSeconds: number
}

/** Limits how many slots a caller holds at a time, over all processes. Every method throws `Unavailable`. */
export interface ConcurrencyLimits {
  /** Takes a slot for one caller, unless it already has the maximum number or bytes. A first slot may have any size. */
  enter(namespace: string, id: string, policy: EntryPolicy): Promise<Entered>
  /** Releases the slot that `enter` returned with `until`, and its bytes. Releasing an expired slot changes nothing. */
  leave(namespace: string, id: string, until: number, bytes: number): Promise<void>
}

/** `pending` until a person decides. Pending and approved codes become `expired`; denied and redeemed ones do not. */
export type DeviceCodeState = 'pending' | 'approved' | 'denied' | 'redeemed' | 'expired'

/** What one device is waiting for (RFC 8628 §3.2). */
export interface DeviceCode<Request, Approval> {
  /** The code that the person types, in its stored form. */
  readonly userCode: string
  readonly request: Request
  readonly state: DeviceCodeState
  /** Present once it is approved. */
  readonly approval?: Approval
  /** The current minimum of seconds between two polls. */
  readonly intervalSeconds: number
}

/** `early`: the device must wait longer. `due`: it may have its answer. */
export type DevicePoll<Request, Approval> =
  { readonly outcome: 'early' | 'due'; readonly code: DeviceCode<Request, Approval> } | { readonly outcome: 'unknown' }

/**
 * Device codes, by the hash of the code and by the user code. An expired one is remembered (`keptSeconds`) so that
 * device and person can learn that it expired; it can be neither decided nor redeemed.
 */
export interface DeviceCodeStore<Request, Approval> {
  /** False, and nothing stored, if another remembered record has the user code. An existing id throws. */
  start(
    id: string,
    record: { readonly userCode: string; readonly request: Request; readonly intervalSeconds: number },
    ttlSeconds: number,
  ): Promise<boolean>
  find(id: string): Promise<DeviceCode<Request, Approval> | undefined>
  findByUserCode(userCode: string): Promise<DeviceCode<Request, Approval> | undefined>
  /**
   * One atomic step over all processes (RFC 8628 §3.5), by `nextPoll`. `due` sets the timestamp and resets the
   * interval. `early` adds five seconds to it, up to a minute, and leaves the timestamp. A denied or expired code is
   * always `due`.
   */
  poll(id: string): Promise<DevicePoll<Request, Approval>>
  /** `won`: it was pending and is now decided. `replayed`: it was not, and the record is unchanged. Durable. */
  decide(
    userCode: string,
    decision: { readonly approval: Approval } | 'denied',
  ): Promise<Redemption<DeviceCode<Request, Approval>>>
  /** Like `OneTimeStore.redeem`, for an approved code; any other is `unknown`. */
  redeem(id: string): Promise<Redemption<DeviceCode<Request, Approval>>>
}

/** A backend's capacity for short-lived entries, and the footprint of one. */
export interface StoreRoom {
  /** Bytes. It can change when the server reports another number. */
  capacity(): number
  /**
   * Bytes that the store needs for one entry, including its index and the space lost between entries, from the size
   * of its id (with namespace) and of its record as JSON. Overestimate rather than underestimate.
   */
  footprint(idBytes: number, recordBytes: number): number
}

/** What the opened collections need in the store besides records, such as indexes. A command creates it. */
export interface StorageSchema {
  /** Creates what is missing or differs, and checks it. Returns a line for each change. */
  migrate(): Promise<readonly string[]>
  /** Throws `Unavailable` with a message that names everything that is missing or differs. */
  check(): Promise<void>
}

/**
 * The collections that an opened backend serves in the ephemeral role: data whose loss makes someone start over. A
 * name is a constant of the core, `[a-z_]+`.
 */
export interface EphemeralBackend extends AsyncDisposable {
  oneTime<T>(name: string): OneTimeStore<T>
  records<T>(name: string): RecordLookup<T>
  replayGuard(name: string): EphemeralReplayGuard
  counters(name: string): CounterStore
  readonly room: StoreRoom
  /** Resolves when the backend answers. Throws `Unavailable`. */
  ping(signal: AbortSignal): Promise<void>
  /** One line about the server for the operator: product, version, role. Throws `Unavailable`. */
  describe?(): Promise<string>
  /** Absent if the store needs nothing besides records. */
  readonly schema?: StorageSchema
  /** Settings that are allowed but probably not intended, worded for the operator. Absent if there are none. */
  warnings?(): Promise<readonly string[]>
}

/** An `EphemeralBackend` that also stores what must never be lost, and can have either role. */
export interface StorageBackend extends EphemeralBackend {
  records<T>(name: string): RecordStore<T>
  refreshFamilies<T>(name: string): RefreshFamilyStore<T>
  replayGuard(name: string): ReplayGuard
  revocations(name: string): RevocationStore
  deviceCodes<Request, Approval>(name: string): DeviceCodeStore<Request, Approval>
}
