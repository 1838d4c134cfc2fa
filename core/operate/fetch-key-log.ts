import { isObject } from '../json.js'
import { allAlgorithms } from '../jose/algorithms.js'
import { BadJwk, checkPublicJwk, type GuardedKey } from '../jose/public-key-guard.js'
import { originOf, parseCheckpoint, type Checkpoint } from '../keys/log/checkpoint.js'
import { decodeEntry, type KeyLogEntry } from '../keys/log/entry.js'
import { leafHash, type Hash } from '../keys/log/merkle.js'
import type { Note } from '../keys/log/note.js'
import { decodeBundle, formatTilePath, tilesOf } from '../keys/log/tiles.js'

/** Entries that are read of a log, which may be anybody's: each of them is fetched. */
export const mostEntries = 200_000
/** Bytes for each entry. That of a long `kid` with every purpose has some five hundred. */
const entryBytes = 2048
const documentBytes = 1_048_576
const checkpointBytes = 16_384
/** Bundles that are fetched at the same time. */
const atOnce = 8
const mostKeys = 1024

/** GETs a document of at most `maxBytes`. Throws `Unavailable`. */
export type FetchBytes = (url: string, maxBytes: number) => Promise<Uint8Array>

/** The answers of a server are not those of a key log. The text is constant. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer'
}

/** A member of `/jwks.json`. */
export interface ServedKey {
  readonly kid: string
  readonly alg: unknown
  /** Absent when it is not a public key that can be checked. */
  readonly key?: GuardedKey
}

const parseJson = (bytes: Uint8Array, what: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (isObject(value)) return value
  } catch {
    // As any other document that is no JSON object.
  }
  throw new BadAnswer(`${what} is not a JSON object.`)
}

const guarded = (member: object): GuardedKey | undefined => {
  try {
    return checkPublicJwk(member, allAlgorithms)
  } catch (error) {
    if (error instanceof BadJwk) return undefined
    throw error
  }
}

/** The keys that the issuer serves, found by its discovery document. Throws `BadAnswer`, `Unavailable`. */
export const fetchServedKeys = async (issuer: string, fetch: FetchBytes): Promise<readonly ServedKey[]> => {
  const discovery = parseJson(
    await fetch(`${issuer}/.well-known/openid-configuration`, documentBytes),
    'The discovery document',
  )
  if (discovery['issuer'] !== issuer) throw new BadAnswer('The discovery document is that of another issuer.')
  const uri = discovery['jwks_uri']
  // No other host is asked at the word of this one.
  if (typeof uri !== 'string' || !uri.startsWith(`${issuer}/`))
    throw new BadAnswer('The discovery document has no `jwks_uri` below the issuer.')
  const { keys } = parseJson(await fetch(uri, documentBytes), 'The key set')
  if (!Array.isArray(keys) || keys.length > mostKeys || !keys.every(isObject))
    throw new BadAnswer('The key set has no list of keys, or too many of them.')
  return keys.map((member) => {
    const { kid, alg } = member
    const key = guarded(member)
    return { kid: typeof kid === 'string' ? kid : '', alg, ...(key !== undefined && { key }) }
  })
}

/** The unverified content that a log serves under its checkpoint. */
export interface FetchedLog {
  /** The note as it was served. */
  readonly text: string
  readonly checkpoint: Checkpoint & { readonly note: Note }
  readonly leaves: readonly Hash[]
  /** By index. Undefined where the log has something else. */
  readonly entries: readonly (KeyLogEntry | undefined)[]
}

/** Fetches the checkpoint and each entry that it covers. Throws `BadAnswer`, `Unavailable`. */
export const fetchKeyLog = async (issuer: string, fetch: FetchBytes): Promise<FetchedLog> => {
  const base = `${issuer}/keys/log`
  const text = Buffer.from(await fetch(`${base}/checkpoint`, checkpointBytes)).toString()
  const checkpoint = parseCheckpoint(text)
  if (checkpoint === undefined) throw new BadAnswer('The checkpoint is not in the form of one.')
  if (checkpoint.origin !== originOf(issuer)) throw new BadAnswer('The checkpoint is that of another log.')
  if (checkpoint.size > mostEntries)
    throw new BadAnswer(`The log says that it has more than ${String(mostEntries)} entries, which are not read.`)
  const bundles = tilesOf('entries', checkpoint.size)
  const leaves: Hash[] = []
  const entries: (KeyLogEntry | undefined)[] = []
  for (let from = 0; from < bundles.length; from += atOnce) {
    const parts = await Promise.all(
      bundles.slice(from, from + atOnce).map(async (tile) => {
        const bytes = await fetch(`${base}/${formatTilePath(tile)}`, tile.width * entryBytes)
        return decodeBundle(bytes, tile.width)
      }),
    )
    for (const part of parts) {
      if (part === undefined) throw new BadAnswer('A bundle does not have the entries that it should have.')
      leaves.push(...part.map(leafHash))
      entries.push(...part.map((entry) => decodeEntry(entry.toString())))
    }
  }
  return { text, checkpoint, leaves, entries }
}
