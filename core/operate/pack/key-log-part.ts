import type { KeyObject } from 'node:crypto'
import { BadJwk, checkPublicJwk } from '../../jose/public-key-guard.js'
import { parseCheckpoint, originOf } from '../../keys/log/checkpoint.js'
import { decodeEntry } from '../../keys/log/entry.js'
import { leafHash, type Hash } from '../../keys/log/merkle.js'
import { isSignedBy, noteKey } from '../../keys/log/note.js'
import { verifyConsistency, verifyInclusion } from '../../keys/log/proofs.js'
import type { KeyLogCopy } from '../../keys/log/read-log.js'

/** The size and root (base64) of a log. The root is absent while there are no entries. */
interface LogState {
  readonly size: number
  readonly root?: string
}

/** `key-log.json`. Hashes are base64, as in checkpoints. */
export interface KeyLogPart {
  /** The last checkpoint when the pack was made: a signed note. */
  readonly checkpoint: string
  /** The log before the first entry of the range, and after the last one. */
  readonly begins: LogState
  readonly ends: LogState
  /** The proofs that `begins` is a prefix of `ends`, and `ends` of the checkpoint (RFC 9162 §2.1.4). */
  readonly consistency: { readonly range: readonly string[]; readonly checkpoint: readonly string[] }
  /** Those of the range, each as it is hashed, with its proof of inclusion in `ends` (RFC 9162 §2.1.3). */
  readonly entries: readonly { readonly index: number; readonly entry: string; readonly proof: readonly string[] }[]
}

const encode = (hashes: readonly Hash[]): readonly string[] => hashes.map((hash) => hash.toString('base64'))

/**
 * The part of the log from the first to the last entry whose time is in the range, with the proofs that tie it to the
 * checkpoint. Throws `Unavailable`.
 */
export const proveKeyLog = async (
  { note, checkpoint, entries, prover }: KeyLogCopy,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<KeyLogPart> => {
  const times = entries.map((entry) => Date.parse(decodeEntry(entry)?.time ?? ''))
  const isInside = (time: number): boolean => time >= from && time < to
  const found = times.findIndex(isInside)
  const first = found === -1 ? times.findLastIndex((time) => time < from) + 1 : found
  const end = found === -1 ? first : times.findLastIndex(isInside) + 1
  const stateAt = async (size: number): Promise<LogState> =>
    size === 0 ? { size } : { size, root: (await prover.root(size)).toString('base64') }
  const prove = async (small: number, large: number): Promise<readonly string[]> =>
    small === 0 ? [] : encode(await prover.consistency(small, large))
  const proved: KeyLogPart['entries'][number][] = []
  for (let index = first; index < end; index++)
    proved.push({ index, entry: entries[index] ?? '', proof: encode(await prover.inclusion(index, end)) })
  return {
    checkpoint: note,
    begins: await stateAt(first),
    ends: await stateAt(end),
    consistency: { range: await prove(first, end), checkpoint: await prove(end, checkpoint.size) },
    entries: proved,
  }
}

const decode = (hashes: readonly string[]): readonly Hash[] => hashes.map((hash) => Buffer.from(hash, 'base64'))
const treeOf = ({ size, root = '' }: LogState) => ({ size, root: Buffer.from(root, 'base64') })

const importKey = (jwk: unknown): KeyObject | undefined => {
  try {
    return checkPublicJwk(jwk, ['EdDSA']).publicKey
  } catch (error) {
    if (error instanceof BadJwk) return undefined
    throw error
  }
}

const findSigner = (part: KeyLogPart, { issuer, signers }: KeyLogRules): string | undefined => {
  const checkpoint = parseCheckpoint(part.checkpoint)
  if (checkpoint === undefined) return 'has no checkpoint'
  const { origin, note } = checkpoint
  if (origin !== originOf(issuer)) return 'is the log of another issuer'
  const keys = signers.flatMap((jwk) => importKey(jwk) ?? [])
  return keys.some((key) => isSignedBy(note, noteKey(origin, key)))
    ? undefined
    : 'has a checkpoint that none of the known keys has signed'
}

/** Compares the entries with the keys of the pack. */
const findKeyFaults = (part: KeyLogPart, known: ReadonlyMap<string, string>): readonly string[] =>
  part.entries.flatMap(({ index, entry }) => {
    const found = decodeEntry(entry)
    if (found === undefined) return [`entry ${String(index)} is none`]
    const thumbprint = known.get(found.kid)
    if (thumbprint === undefined) return [`${found.kid} is in the log, and not among the keys`]
    return thumbprint === found.thumbprint ? [] : [`${found.kid} is another key in the log`]
  })

export interface KeyLogRules {
  readonly issuer: string
  /** Public keys that may have signed the checkpoint. */
  readonly signers: readonly unknown[]
  /** Thumbprints by `kid`. */
  readonly known: ReadonlyMap<string, string>
}

/** Returns the faults of the log's part, in words. */
export const findKeyLogFaults = (part: KeyLogPart, rules: KeyLogRules): readonly string[] => {
  const { begins, ends, consistency, entries } = part
  const unsigned = findSigner(part, rules)
  const checkpoint = parseCheckpoint(part.checkpoint)
  if (checkpoint === undefined || unsigned !== undefined) return [unsigned ?? 'has no checkpoint']
  const faults: string[] = []
  const isWhole =
    entries.length === ends.size - begins.size && entries.every(({ index }, place) => index === begins.size + place)
  if (!isWhole) faults.push('lacks entries of the range, or has others')
  const [first, last] = [treeOf(begins), treeOf(ends)]
  const begun = begins.size === 0 || verifyConsistency(first, decode(consistency.range), last)
  const ended = ends.size === 0 || verifyConsistency(last, decode(consistency.checkpoint), checkpoint)
  if (!begun || !ended) faults.push('was rewritten: its sizes are not of one log')
  for (const { index, entry, proof } of entries)
    if (!verifyInclusion(leafHash(Buffer.from(entry)), index, decode(proof), last))
      faults.push(`entry ${String(index)} is not in the log`)
  return [...faults, ...findKeyFaults(part, rules.known)]
}
