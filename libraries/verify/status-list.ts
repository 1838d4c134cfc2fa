import { promisify } from 'node:util'
import { inflate } from 'node:zlib'
import { isOfType } from '../wire/media-type.js'
import { isTime } from '../wire/request-claims.js'
import { fetchText, type Fetch } from './fetch-text.js'
import { isObject, readBase64url, readCompact } from './jws.js'
import type { KeySets } from './key-sets.js'
import { refused } from './refusal.js'

/** The place of an attestation's status (draft-ietf-oauth-status-list §6). */
export interface StatusListReference {
  readonly idx: number
  readonly uri: string
}

/** Checks whether an attestation with a status is still valid. */
export interface StatusChecker {
  /** True only for a status known to be valid. A rejection is answered with 503. */
  isValid(issuer: string, reference: StatusListReference): boolean | Promise<boolean>
}

export interface StatusListOptions {
  readonly keySets: KeySets
  readonly fetch: Fetch
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

interface StatusList {
  readonly bytes: Uint8Array
  readonly bits: 1 | 2 | 4 | 8
  /** Milliseconds since the epoch. */
  readonly usableUntil: number
}

interface Entry {
  list: StatusList | undefined
  running: Promise<StatusList> | undefined
  failedAt: number
  failure: unknown
}

/** Limit for the answer and for the decompressed list: four million devices with one bit each. */
const mostBytes = 1_048_576
const maxInflatedBytes = 524_288
const maxLists = 64
/** Seconds that a list without a `ttl` is cached, and the longest time for any list. */
const defaultTtl = 300
const longestTtl = 86_400
/** Milliseconds between attempts to fetch an unavailable list. */
const betweenAttempts = 5000

const unzip = promisify(inflate)

/** Reads Token Status Lists of the trusted issuers (draft-ietf-oauth-status-list-20), and caches each for its `ttl`. */
export const createStatusLists = ({ keySets, fetch, clock }: StatusListOptions): StatusChecker => {
  const entries = new Map<string, Entry>()

  const download = async (issuer: string, uri: string): Promise<StatusList> => {
    const now = clock()
    const text = (await fetchText(fetch, uri, { headers: { accept: 'application/statuslist+jwt' } }, mostBytes)).trim()
    const { header, payload, input, signature } = readCompact(text)
    const { alg, kid, typ } = header
    const { sub, iat, exp = Infinity, ttl = defaultTtl, status_list: list } = payload
    const key = await keySets.find(issuer, String(kid))
    if (!isOfType(typ, 'statuslist+jwt') || !key.verifies(alg, input, signature))
      throw new Error('Nobody signed this list.')
    if (sub !== uri || !isTime(iat) || (payload['iss'] ?? issuer) !== issuer) throw new Error('This is another list.')
    if (typeof exp !== 'number' || exp * 1000 <= now) throw new Error('The list has expired.')
    if (typeof ttl !== 'number' || !(ttl > 0)) throw new Error('The list has no usable ttl.')
    return {
      ...(await readList(list)),
      usableUntil: Math.min(exp * 1000, now + Math.min(ttl, longestTtl) * 1000),
    }
  }

  const find = (issuer: string, uri: string): StatusList | Promise<StatusList> => {
    const place = `${issuer} ${uri}`
    let entry = entries.get(place)
    if (!entry) {
      const [oldest] = entries.keys()
      if (entries.size >= maxLists && oldest !== undefined) entries.delete(oldest)
      entries.set(place, (entry = { list: undefined, running: undefined, failedAt: -Infinity, failure: undefined }))
    }
    const { list, failedAt, failure } = entry
    if (list && clock() < list.usableUntil) return list
    if (!entry.running && clock() - failedAt < betweenAttempts) throw refused('status_unavailable', failure)
    return (entry.running ??= download(issuer, uri)
      .then(
        (downloaded) => (entry.list = downloaded),
        (cause: unknown) => {
          entry.failedAt = clock()
          entry.failure = cause
          throw refused('status_unavailable', cause)
        },
      )
      .finally(() => {
        entry.running = undefined
      }))
  }

  return {
    async isValid(issuer, { idx, uri }) {
      // Only the issuer decides where its lists are; any other address would make this verifier fetch for strangers.
      const isOfIssuer = uri.startsWith(`${issuer.replace(/\/$/, '')}/`) && new URL(uri).href === uri
      if (!isOfIssuer) return false
      const { bytes, bits } = await find(issuer, uri)
      const byte = bytes[Math.floor((idx * bits) / 8)]
      // Statuses are packed from the lowest bit on (§4.1). 0 is valid.
      return byte !== undefined && ((byte >> ((idx * bits) % 8)) & (2 ** bits - 1)) === 0
    },
  }
}

const readList = async (list: unknown): Promise<Pick<StatusList, 'bytes' | 'bits'>> => {
  const { bits, lst } = isObject(list) ? list : {}
  const compressed = typeof lst === 'string' ? readBase64url(lst) : undefined
  if ((bits !== 1 && bits !== 2 && bits !== 4 && bits !== 8) || !compressed)
    throw new Error('This is not a status list.')
  return { bits, bytes: await unzip(compressed, { maxOutputLength: maxInflatedBytes }) }
}
