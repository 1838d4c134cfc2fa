import { isDeepStrictEqual } from 'node:util'
import { isoTime, type Clock } from '../../clock.js'
import type { FollowingLog, KeysInForce, Occasion } from '../lifecycle/ledger.js'
import type { KeyPublications } from '../lifecycle/publications.js'
import type { KeyState } from '../ports.js'
import type { SlotRecord } from '../slots/slot.js'
import { keyLogSteps, type KeyLogEntry, type KeyLogStep } from './entry.js'
import { isEnded, type LoggedKey } from './head.js'
import type { KeyLog } from './key-log.js'

/** Milliseconds until what was logged is looked at again, although nothing has changed in this process. */
const againMs = 60_000
/** Milliseconds for one signature of the log. */
const signMs = 10_000

const stepOf: Readonly<Record<KeyState, KeyLogStep>> = {
  next: 'published',
  active: 'signing',
  retired: 'retired',
  gone: 'gone',
}

/** The changes of this process's keys that the log records. */
export interface Followed {
  /** Those of the ring that are or were published. */
  readonly keys: readonly LoggedKey[]
  /** Those that it had before, with their last step. */
  readonly removed: ReadonlyMap<string, 'gone' | 'withdrawn'>
  /** Those that a backend has destroyed. */
  readonly destroyed: readonly string[]
}

const later = (left: KeyLogStep, right: KeyLogStep): boolean => keyLogSteps.indexOf(left) > keyLogSteps.indexOf(right)

const describe = ({ step: _step, ...key }: LoggedKey): Omit<LoggedKey, 'step'> => key

/** The entries about one key of the ring. A replica whose clock or configuration is behind takes no step back. */
const stepsOf = (key: LoggedKey, before: LoggedKey | undefined, isChange: boolean): readonly LoggedKey[] => {
  if (isEnded(key)) return before === undefined || isEnded(before) ? [] : [{ ...before, step: key.step }]
  if (before === undefined || isEnded(before) || before.thumbprint !== key.thumbprint) {
    const published: LoggedKey = { ...key, step: 'published' }
    return key.step === 'published' ? [published] : [published, key]
  }
  const isOther = before.step !== key.step || !isDeepStrictEqual(describe(before), describe(key))
  return later(key.step, before.step) || (isChange && isOther) ? [key] : []
}

/**
 * What the log lacks about these keys, after what it has. `isChange` says that this configuration has just come into
 * force. Pure.
 */
export const findEntries = (
  logged: readonly LoggedKey[],
  { keys, removed, destroyed }: Followed,
  isChange: boolean,
  now: number,
): readonly KeyLogEntry[] => {
  const byKid = new Map(logged.map((key) => [key.kid, key]))
  const present = new Set(keys.map(({ kid }) => kid))
  const steps = keys.flatMap((key) => stepsOf(key, byKid.get(key.kid), isChange))
  const ends = logged.flatMap((key): LoggedKey[] => {
    if (present.has(key.kid)) return []
    const step = removed.get(key.kid)
    return step === undefined || isEnded(key) ? [] : [{ ...key, step }]
  })
  const ended = destroyed.flatMap((kid): LoggedKey[] => {
    const key = byKid.get(kid)
    return key === undefined || key.step === 'destroyed' ? [] : [{ ...key, step: 'destroyed' }]
  })
  return [...steps, ...ends, ...ended].map((key) => ({ ...key, time: isoTime(now) }))
}

/** A module of the deployment's own is not named by its path, which is nobody's business. */
const kindOf = (use = 'custom'): string => (/^(?:[./\\]|file:|[A-Za-z]:)/.test(use) ? 'custom' : use)

const keysOf = ({ ring, checked: { config } }: KeysInForce, publications: KeyPublications): readonly LoggedKey[] =>
  ring.states().flatMap(({ kid, alg, purposes, signer, state }): LoggedKey[] => {
    const thumbprint = ring.find(kid)?.opened?.thumbprint ?? publications.get(kid)?.thumbprint
    // A key that was never opened was never published.
    if (thumbprint === undefined) return []
    return [{ kid, thumbprint, alg, purposes, signer: kindOf(config.signers[signer]?.use), step: stepOf[state] }]
  })

export interface KeyLogFollowerOptions {
  /** The writer, once there are keys that sign for it. */
  readonly log: () => KeyLog | undefined
  readonly publications: KeyPublications
  readonly slots: { readonly records: ReadonlyMap<string, SlotRecord> }
  readonly clock: Clock
}

export interface KeyLogFollower extends FollowingLog {
  /**
   * Tells whether a key may be published without a new entry: the log has it, or it was published before there was a
   * log.
   */
  isKnown(kid: string): boolean
  /** Seconds for which the log could not be written or signed; 0 while it is complete. */
  behindSeconds(): number
}

/** Keeps the log in step with the keys of this process. One per issuer; it survives reloads. */
export const createKeyLogFollower = ({ log, publications, slots, clock }: KeyLogFollowerOptions): KeyLogFollower => {
  const known = new Set<string>()
  const removed = new Map<string, 'gone' | 'withdrawn'>()
  let behindSince: number | undefined
  let done: { readonly followed: Followed; readonly at: number } | undefined

  /** An earlier process may have removed keys and not have come to log it. */
  const removedBefore = (keys: readonly LoggedKey[], logged: readonly LoggedKey[]): void => {
    const present = new Set(keys.map(({ kid }) => kid))
    for (const { kid } of logged) {
      const publication = publications.get(kid)
      if (!present.has(kid) && (publication === undefined || publication.withdrawn !== undefined))
        removed.set(kid, 'withdrawn')
    }
  }

  const followedNow = (keys: KeysInForce): Followed => ({
    keys: keysOf(keys, publications),
    removed: new Map(removed),
    destroyed: [...slots.records.values()].flatMap((record) =>
      record.keys.flatMap(({ kid, step }) => (step === 'destroyed' ? [kid] : [])),
    ),
  })

  const follow = async (keys: KeysInForce, occasion: Occasion): Promise<void> => {
    const now = clock()
    const writer = log()
    if (writer === undefined) return
    if (occasion === 'start') removedBefore(keysOf(keys, publications), (await writer.read()).keys)
    const followed = followedNow(keys)
    // The clock may be set back.
    const isRecent = done !== undefined && Math.abs(now - done.at) < againMs
    if (occasion === 'watch' && isRecent && isDeepStrictEqual(done?.followed, followed)) return
    const isChange = occasion !== 'watch'
    const head = await writer.append((logged) => findEntries(logged, followed, isChange, now))
    await writer.sign(head, AbortSignal.timeout(signMs))
    for (const { kid, step } of followed.keys) {
      if (step === 'gone') continue
      known.add(kid)
      removed.delete(kid)
      keys.ring.admit(kid, occasion === 'watch')
    }
    for (const kid of followed.removed.keys()) removed.delete(kid)
    done = { followed: { ...followed, removed: new Map() }, at: now }
  }

  return {
    isKnown(kid) {
      const publication = publications.get(kid)
      return known.has(kid) || (publication !== undefined && publication.withdrawn === undefined)
    },
    removed(keys) {
      for (const { kid, isGone } of keys) {
        known.delete(kid)
        removed.set(kid, isGone ? 'gone' : 'withdrawn')
      }
    },
    behindSeconds: () => (behindSince === undefined ? 0 : Math.max(0, clock() - behindSince) / 1000),
    async follow(keys, occasion) {
      try {
        await follow(keys, occasion)
        behindSince = undefined
      } catch (error) {
        behindSince ??= clock()
        throw error
      }
    },
  }
}
