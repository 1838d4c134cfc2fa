import { parseCheckpoint } from '../keys/log/checkpoint.js'
import type { KeyLogEntry } from '../keys/log/entry.js'
import { isEnded } from '../keys/log/head.js'
import { rootOf } from '../keys/log/merkle.js'
import { formatNoteKey, isSignedBy, noteKey, parseNoteKey, type NoteKey } from '../keys/log/note.js'
import {
  BadAnswer,
  fetchKeyLog,
  fetchServedKeys,
  type FetchBytes,
  type FetchedLog,
  type ServedKey,
} from './fetch-key-log.js'

/** The kinds of findings, from a log that cannot be trusted to one that lacks something. */
export type KeyLogFindingKind =
  'bad_answer' | 'bad_signature' | 'shrunk' | 'forked' | 'rewritten' | 'mismatch' | 'outside' | 'ended' | 'stale'

export interface KeyLogFinding {
  readonly kind: KeyLogFindingKind
  /** The key that it is about. */
  readonly kid?: string
  readonly message: string
}

/** The memory of the last look at a log. */
export interface SeenLog {
  /** The verifier key of its checkpoints. */
  readonly key: string
  /** The signed note of its last checkpoint. */
  readonly checkpoint: string
}

export interface KeyLogLook {
  readonly issuer: string
  readonly size: number
  readonly findings: readonly KeyLogFinding[]
  /** The state to keep. It is absent when the log itself is in doubt. */
  readonly seen?: SeenLog
  /** The key that signed before, if another one has followed it. */
  readonly followed?: string
  /** The note that was served, which is evidence when the log is in doubt. */
  readonly note?: string
}

export interface WatchOptions {
  readonly issuer: string
  readonly fetch: FetchBytes
  readonly now: number
  readonly seen?: SeenLog | undefined
  /** The key that has to sign, whatever was seen. */
  readonly key?: NoteKey | undefined
  readonly sleep: (milliseconds: number) => Promise<unknown>
}

/** Milliseconds for which caches may have an old `/jwks.json`, and clocks differ. */
const cachedMs = 70 * 60_000
/** Milliseconds after which a checkpoint that caches keep is gone. */
const againMs = 5000

const messages = {
  bad_signature:
    'The checkpoint is not signed by the key of the log, nor by one that the log announced under that key.',
  shrunk: 'The log is smaller than it was: entries were removed, or an old backup was restored.',
  forked: 'The log had another content at this size: it shows different histories to different readers.',
  rewritten: 'The log does not begin with what was seen before: its history was rewritten.',
  mismatch: 'The entries that the log serves are not those that its checkpoint covers.',
  outside: 'The key is in /jwks.json, and the log does not have it as published.',
  ended: 'The key is in /jwks.json, and ended in the log more than an hour ago.',
  stale: 'The log has the key as published, and /jwks.json does not have it: the log lacks its end.',
} as const satisfies Readonly<Partial<Record<KeyLogFindingKind, string>>>

const finding = (kind: keyof typeof messages, kid?: string): KeyLogFinding => ({
  kind,
  ...(kid !== undefined && { kid }),
  message: messages[kind],
})

/** Tells whether these entries let a key sign the log, up to the end. */
const announces = (entries: FetchedLog['entries'], until: number, thumbprint: string): boolean => {
  const own = (entry: KeyLogEntry | undefined): boolean => entry?.thumbprint === thumbprint
  const isAnnounced = entries
    .slice(0, until)
    .some(
      (entry) => own(entry) && entry?.step === 'published' && entry.alg === 'EdDSA' && entry.purposes.includes('audit'),
    )
  const last = entries.findLast(own)
  return isAnnounced && last !== undefined && last.step !== 'withdrawn' && last.step !== 'destroyed'
}

/** The key of `/jwks.json` that signed this checkpoint and is announced in the first `until` entries. */
const findAnnounced = (log: FetchedLog, served: readonly ServedKey[], until: number): NoteKey | undefined => {
  for (const { key } of served) {
    if (key?.publicKey.asymmetricKeyType !== 'ed25519') continue
    const candidate = noteKey(log.checkpoint.origin, key.publicKey)
    if (isSignedBy(log.checkpoint.note, candidate) && announces(log.entries, until, key.thumbprint)) return candidate
  }
  return undefined
}

/** The last checkpoint that was seen of this log. */
const lastSeen = ({ checkpoint: { origin } }: FetchedLog, seen: SeenLog | undefined) => {
  const before = seen && parseCheckpoint(seen.checkpoint)
  return before?.origin === origin ? before : undefined
}

/**
 * The key that signed the checkpoint and may do so: the one that is known, one that the log announced while that key
 * still signed, or, at the first look, one that the log itself has.
 */
const findSigner = (
  log: FetchedLog,
  served: readonly ServedKey[],
  { seen, key }: WatchOptions,
): NoteKey | undefined => {
  const pinned = key ?? (seen && parseNoteKey(seen.key))
  if (pinned === undefined) return findAnnounced(log, served, log.checkpoint.size)
  if (isSignedBy(log.checkpoint.note, pinned)) return pinned
  const before = lastSeen(log, seen)
  return before !== undefined && isSignedBy(before.note, pinned) ? findAnnounced(log, served, before.size) : undefined
}

/** Compares the log with itself and with what was seen of it. */
const findRewriting = (log: FetchedLog, seen: SeenLog | undefined): KeyLogFinding | undefined => {
  const { size, root } = log.checkpoint
  const before = lastSeen(log, seen)
  if (before !== undefined && size < before.size) return finding('shrunk')
  if (before?.size === size && !before.root.equals(root)) return finding('forked')
  if (!rootOf(log.leaves).equals(root) || log.entries.includes(undefined)) return finding('mismatch')
  if (before !== undefined && !rootOf(log.leaves.slice(0, before.size)).equals(before.root)) return finding('rewritten')
  return undefined
}

/** Compares the keys of `/jwks.json` with those of the log. */
const findKeys = (log: FetchedLog, served: readonly ServedKey[], now: number): readonly KeyLogFinding[] => {
  const last = new Map(log.entries.flatMap((entry) => (entry === undefined ? [] : [[entry.kid, entry]])))
  const isOld = ({ time }: KeyLogEntry): boolean => now - Date.parse(time) > cachedMs
  const found = served.flatMap(({ kid, alg, key }): KeyLogFinding[] => {
    const entry = last.get(kid)
    if (entry === undefined || key?.thumbprint !== entry.thumbprint || alg !== entry.alg)
      return [finding('outside', kid)]
    return isEnded(entry) && isOld(entry) ? [finding('ended', kid)] : []
  })
  const kids = new Set(served.map(({ kid }) => kid))
  const stale = [...last.values()].filter((entry) => !isEnded(entry) && !kids.has(entry.kid) && isOld(entry))
  return [...found, ...stale.map(({ kid }) => finding('stale', kid))]
}

const lookOnce = async (options: WatchOptions): Promise<KeyLogLook> => {
  const { issuer, fetch, seen, now } = options
  // In this order: a key is in the log before it is in the key set.
  const served = await fetchServedKeys(issuer, fetch)
  const log = await fetchKeyLog(issuer, fetch)
  const { text: note } = log
  const about = { issuer, size: log.checkpoint.size, note }
  const signer = findSigner(log, served, options)
  const rewriting = findRewriting(log, seen)
  const doubts = [...(signer === undefined ? [finding('bad_signature')] : []), ...(rewriting ? [rewriting] : [])]
  if (signer === undefined || doubts.length > 0) return { ...about, findings: doubts }
  const key = formatNoteKey(signer)
  const findings = findKeys(log, served, now)
  return {
    ...about,
    findings,
    seen: { key, checkpoint: note },
    ...(seen !== undefined && seen.key !== key && { followed: seen.key }),
  }
}

/**
 * Looks at the key log of an issuer from anywhere. What it says is compared with what was seen before, its entries with
 * its checkpoint, and the keys of `/jwks.json` with its entries. Throws `Unavailable` when it does not answer.
 */
export const watchKeyLog = async (options: WatchOptions): Promise<KeyLogLook> => {
  try {
    const look = await lookOnce(options)
    if (!look.findings.some(({ kind }) => kind === 'outside')) return look
    // A cache may have had an older checkpoint than the key set.
    await options.sleep(againMs)
    return await lookOnce(options)
  } catch (error) {
    if (!(error instanceof BadAnswer)) throw error
    return { issuer: options.issuer, size: 0, findings: [{ kind: 'bad_answer', message: error.message }] }
  }
}
