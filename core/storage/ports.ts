/**
 * What the core asks of a store. All throw `Unavailable` when it is down, slow or full, and nothing else. Expiry is part of reads: what
 * is over is not there. Ids are opaque, 1 to 512 characters; callers hash what is secret before. Records are JSON values.
 */

export type Redemption<T> =
  | { readonly outcome: 'won'; readonly record: T }
  | { readonly outcome: 'replayed'; readonly record: T }
  | { readonly outcome: 'unknown' }

/** Records that are used once: authorization codes, interactions, enrolment challenges. */
export interface OneTimeStore<T> {
  /** Stores a record for `ttlSeconds`. Durable when it resolves. An id that exists is a bug and throws. */
  put(id: string, record: T, ttlSeconds: number): Promise<void>
  /** The record, whether it was redeemed or not, until it expires. */
  find(id: string): Promise<T | undefined>
  /** As `find`, but for a record that was redeemed. */
  findUnused(id: string): Promise<T | undefined>
  /** Of N callers, in any number of processes, exactly one gets `won`; the others `replayed`. Durable before it resolves. */
  redeem(id: string): Promise<Redemption<T>>
}

/** Remembers ids that must not come twice: client assertions (RFC 7523 §3), DPoP proofs (RFC 9449 §11.1). */
export interface ReplayGuard {
  /** True for the first caller within `ttlSeconds`, false for everybody else. */
  claim(namespace: string, id: string, ttlSeconds: number): Promise<boolean>
}

/**
 * A guard whose memory may be lost: a store that answers before it has written, whose successor missed something, or whose
 * clock is set back behind what has expired. It knows when that happened, and answers for nothing that may have been claimed
 * before. A `ReplayGuard` is one that never forgets.
 */
export interface EphemeralReplayGuard {
  /**
   * As `ReplayGuard.claim`. `earliest` is when any process could have accepted the id at the soonest, whatever its clock:
   * milliseconds since the epoch. Throws `Unavailable` when the claim of that time may be forgotten.
   */
  claim(namespace: string, id: string, ttlSeconds: number, earliest: number): Promise<boolean>
  /**
   * Since when every claim is remembered, the same in all processes: milliseconds since the epoch. Throws `Unavailable`
   * until that is known, and then never. Absent: for ever.
   */
  since?(): number
}

/** One chain of rotated refresh tokens (RFC 9700 §4.14). Hashes only: the store never sees a token. */
export interface RefreshFamily<T> {
  readonly grant: T
  /** Hash of the one live token. */
  readonly current: string
  /** Hash of the token that `current` replaced, with what derived the successor and when: what an honest retry needs. */
  readonly previous?: { readonly hash: string; readonly salt: string; readonly rotatedAt: number }
  /** Milliseconds since the epoch; no rotation moves it (RFC 9700 §4.14). */
  readonly absoluteExpiry: number
}

export interface Rotation {
  /** Hash of the token that was presented. The store compares it with `current` in the same atomic step. */
  readonly presented: string
  /**
   * Hash of the successor and the salt that derived it; absent: the token stays and its idle time restarts, give or take
   * a hundredth of it: a store need not write at each use.
   */
  readonly successor?: { readonly hash: string; readonly salt: string }
  /** Seconds from now; never past `absoluteExpiry`. */
  readonly idleTtlSeconds: number
}

export interface RefreshFamilyStore<T> {
  /** Starts a family. It lives until idle or absolute time is over, whichever is first. */
  start(family: string, record: RefreshFamily<T>, idleTtlSeconds: number): Promise<void>
  find(family: string): Promise<RefreshFamily<T> | undefined>
  /** `won`: `presented` was current and is now replaced. `replayed`: it was not; the record is as it stands. */
  rotate(family: string, rotation: Rotation): Promise<Redemption<RefreshFamily<T>>>
  /** Ends the family. Idempotent. */
  remove(family: string): Promise<void>
}

/** When something began that an end by time may have ended. */
export interface Began {
  /** What `revokeBefore` was given. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/**
 * What was ended before its time: grants (all tokens of one authorization), single tokens by `jti`, and all that a subject
 * began before a moment. One record ends a grant, so nothing is ever half revoked. The store admits a revocation even when
 * it is full.
 */
export interface RevocationStore {
  revoke(id: string, ttlSeconds: number): Promise<void>
  /**
   * Ends all that began under this id before `before`, milliseconds since the epoch. A second call never moves that moment
   * back and never makes the record shorter. The id is none that `revoke` is given.
   */
  revokeBefore(id: string, before: number, ttlSeconds: number): Promise<void>
  /** True when any of the ids is revoked, or when `began` is over: it began before the moment that its id has. One question. */
  isRevoked(ids: readonly string[], began?: Began): Promise<boolean>
  /** The moment that `revokeBefore` set for this id. */
  endedBefore(id: string): Promise<number | undefined>
}

/** Records that are kept and changed as a whole and looked up by id alone: sessions. */
export interface RecordLookup<T> {
  find(id: string): Promise<T | undefined>
  /** Returns false, and changes nothing, when `onlyIfAbsent` and the id exists. No `ttlSeconds`: for ever. */
  put(
    id: string,
    record: T,
    options?: { readonly ttlSeconds?: number; readonly onlyIfAbsent?: boolean },
  ): Promise<boolean>
  /** True when there was one. */
  remove(id: string): Promise<boolean>
}

/** Asked with the record, and until when it is kept: undefined where that is for ever, or where there is none. */
export type RecordDecision<T, Result> = (
  current: T | undefined,
  expiresAt?: number,
) => {
  readonly result: Result
  /** What replaces the record until `expiresAt`, milliseconds since the epoch, or for ever; null removes it; absent: nothing changes. */
  readonly write?: { readonly record: T; readonly expiresAt?: number | undefined } | null
}

/** As `RecordLookup`, and listed and changed: clients, accounts, consents. */
export interface RecordStore<T> extends RecordLookup<T> {
  /** As `CounterStore.update`, for a record. Durable when it resolves. */
  update<Result>(id: string, decide: RecordDecision<T, Result>): Promise<Result>
  /** In order of id, at most `limit`, from after `after`. */
  list(after: string | undefined, limit: number): Promise<readonly { readonly id: string; readonly record: T }[]>
}

/** What a caller of `CounterStore.update` makes of a state. */
export interface CounterStep<State, Result> {
  readonly result: Result
  /** What replaces the state until `forgetAt`, in milliseconds since the epoch: then it is not there; null removes it; absent: nothing changes. */
  readonly write?: { readonly state: State; readonly forgetAt: number } | null
}

/** Asked with the state, the time of the store, and until when the state is kept. */
export type CounterDecision<State, Result> = (
  current: State | undefined,
  now: number,
  forgetAt: number | undefined,
) => CounterStep<State, Result>

/** Small states that many callers change at once: counts of guesses, of requests, of places that are taken. */
export interface CounterStore {
  /**
   * Reads, decides and writes as one atomic step over all processes, by the clock of the store. `decide` is pure: it is asked
   * again when another caller was faster. What it throws, `update` rejects with, and nothing changes.
   */
  update<State, Result>(namespace: string, id: string, decide: CounterDecision<State, Result>): Promise<Result>
}

export interface AttemptPolicy {
  /** Attempts that cost nothing. */
  readonly free: number
  /** Delay after the first attempt over `free`; doubles with each further one up to `maxDelaySeconds`. */
  readonly baseDelaySeconds: number
  readonly maxDelaySeconds: number
  /** After this long without an attempt all is forgotten. */
  readonly forgetAfterSeconds: number
}

/** Counts guesses at something secret, over all processes. */
export interface AttemptLimiter {
  /** Counts one attempt, atomically, unless it comes within the delay: then it is refused and not counted. */
  take(
    namespace: string,
    id: string,
    policy: AttemptPolicy,
  ): Promise<{ readonly allowed: boolean; readonly retryAfterSeconds: number }>
  /** Forgets, after a success. */
  clear(namespace: string, id: string): Promise<void>
  /** Takes back the caller's own attempt, which was right; those of others stay. No delay and no time of forgetting moves. */
  giveBack(namespace: string, id: string): Promise<void>
}

export type Entered =
  /** `until`: when the place is free again by itself; milliseconds since the epoch. */
  { readonly allowed: true; readonly until: number } | { readonly allowed: false; readonly retryAfterSeconds: number }

export interface EntryPolicy {
  readonly most: number
  readonly bytes: number
  readonly mostBytes: number
  /** A place is free again after this time, or up to a sixteenth of it later. */
  readonly ttlSeconds: number
}

/** How many places callers hold at a time, over all processes. Every member throws `Unavailable`. */
export interface Occupancy {
  /** Takes a place for one caller, unless it has the most, or the most bytes, that it may. One alone has any bytes. */
  enter(namespace: string, id: string, policy: EntryPolicy): Promise<Entered>
  /** Gives back the place that `enter` returned with `until`, and its bytes. A place that is over already changes nothing. */
  leave(namespace: string, id: string, until: number, bytes: number): Promise<void>
}

/**
 * `pending` until a person decides. What is pending or approved past its time is `expired`; what was denied or redeemed
 * stays so.
 */
export type DeviceCodeState = 'pending' | 'approved' | 'denied' | 'redeemed' | 'expired'

/** What one device waits for (RFC 8628 §3.2). */
export interface DeviceCode<Request, Approval> {
  /** What the person types, in its stored form. */
  readonly userCode: string
  readonly request: Request
  readonly state: DeviceCodeState
  /** Present when it was approved. */
  readonly approval?: Approval
  /** Least seconds between two polls, as it stands now. */
  readonly intervalSeconds: number
}

/** `early`: the device must wait longer. `due`: it may have its answer. */
export type DevicePoll<Request, Approval> =
  { readonly outcome: 'early' | 'due'; readonly code: DeviceCode<Request, Approval> } | { readonly outcome: 'unknown' }

/**
 * Device codes, by a hash of the code and by the user code. An expired one is remembered (`keptSeconds`), so that device and
 * person can learn that it is over; it can be neither decided nor redeemed.
 */
export interface DeviceCodeStore<Request, Approval> {
  /** False, and nothing is stored, when the user code belongs to another one that is remembered. An id that exists throws. */
  start(
    id: string,
    record: { readonly userCode: string; readonly request: Request; readonly intervalSeconds: number },
    ttlSeconds: number,
  ): Promise<boolean>
  find(id: string): Promise<DeviceCode<Request, Approval> | undefined>
  findByUserCode(userCode: string): Promise<DeviceCode<Request, Approval> | undefined>
  /**
   * One atomic step over all processes (RFC 8628 §3.5), by `nextPoll`. `due` stamps the time, and the interval is the first one
   * again. `early` makes it five seconds longer, up to a minute, and leaves the stamp. What is denied or expired is always `due`.
   */
  poll(id: string): Promise<DevicePoll<Request, Approval>>
  /** `won`: it was pending and is decided now. `replayed`: it was not; the record is as it stands. Durable. */
  decide(
    userCode: string,
    decision: { readonly approval: Approval } | 'denied',
  ): Promise<Redemption<DeviceCode<Request, Approval>>>
  /** As `OneTimeStore.redeem`, for one that is approved; any other is `unknown`. */
  redeem(id: string): Promise<Redemption<DeviceCode<Request, Approval>>>
}

/** What a backend has for short-lived entries, and what one of them takes of it. */
export interface StoreRoom {
  /** Bytes; another number later where the server says another. */
  capacity(): number
  /**
   * Bytes that the store needs for one entry, with its index and all that is lost between entries: by the bytes of its id
   * (and namespace), and of its record as JSON. Rather too many than too few.
   */
  footprint(idBytes: number, recordBytes: number): number
}

/** What the collections asked for so far need in the store beside their records, such as indexes: made by command. */
export interface StorageSchema {
  /** Makes what is missing or is other than it should be, and checks it; a line on each thing that it did. */
  migrate(): Promise<readonly string[]>
  /** Throws `Unavailable`, which names all that is missing or is other than it should be. */
  check(): Promise<void>
}

/**
 * The collections that one opened backend serves to the ephemeral role: what, if lost, makes someone start over. A name is a
 * constant of the core, `[a-z_]+`.
 */
export interface EphemeralBackend extends AsyncDisposable {
  oneTime<T>(name: string): OneTimeStore<T>
  records<T>(name: string): RecordLookup<T>
  replayGuard(name: string): EphemeralReplayGuard
  counters(name: string): CounterStore
  readonly room: StoreRoom
  /** Resolves when the backend answers; throws `Unavailable`. */
  ping(signal: AbortSignal): Promise<void>
  /** What an operator should know of the server, in a line: product, version, role. Throws `Unavailable`. */
  describe?(): Promise<string>
  /** Absent: records are all that this store needs. */
  readonly schema?: StorageSchema
  /** What is allowed and probably not meant, in words for the operator. Absent: there is no such thing. */
  warnings?(): Promise<readonly string[]>
}

/** As `EphemeralBackend`, for what must never be lost: either role. */
export interface StorageBackend extends EphemeralBackend {
  records<T>(name: string): RecordStore<T>
  refreshFamilies<T>(name: string): RefreshFamilyStore<T>
  replayGuard(name: string): ReplayGuard
  revocations(name: string): RevocationStore
  deviceCodes<Request, Approval>(name: string): DeviceCodeStore<Request, Approval>
}
