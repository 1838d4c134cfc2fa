import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { epochSeconds, type Clock } from '../../clock.js'
import { withDeadline } from '../../deadline.js'
import type { JwsAlg } from '../../jose/jwk.js'
import { statusListLifetimes, type KeyRing } from '../../keys/ports.js'
import { OAuthError } from '../../oauth/errors.js'
import type { AuditLog } from '../../observe/audit.js'
import type { Durations } from '../../observe/counts.js'
import type { Log } from '../../observe/log.js'
import { createSignToken } from '../../tokens/sign-token.js'
import { Unavailable } from '../../unavailable.js'
import { endOf, type ListIds } from './list-ids.js'
import type { ListsHere } from './lists-here.js'

/** A Status List Token as it is sent. */
export interface SignedList {
  readonly body: Buffer
  readonly etag: string
}

export interface ListPublicationOptions {
  readonly lists: ListsHere
  readonly ids: ListIds
  readonly ring: Pick<KeyRing, 'sign'>
  readonly alg: JwsAlg
  readonly issuer: string
  /** Seconds for which verifiers may cache a list. */
  readonly ttlSeconds: number
  readonly clock: Clock
  readonly audit: AuditLog
  readonly log: Log
  /** How long it took to compress and sign lists. */
  readonly builds: Durations
}

export interface ListPublication {
  /** Seconds before the store is asked again for revocations by others. */
  readonly refreshSeconds: number
  /** Nearly always answers from memory. Throws a 404 for an id that is not one of our lists, and `Unavailable`. */
  get(id: string): SignedList | Promise<SignedList>
}

interface Published extends SignedList {
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly signedAt: number
  readonly expiresAt: number
}

interface Known {
  published?: Published
  updating?: Promise<Published> | undefined
  failure?: { readonly at: number; readonly error: Unavailable } | undefined
}

/**
 * The key signs no other type for this purpose. The length is that of a list in which every second token is revoked.
 */
const profile = { typ: 'statuslist+jwt', purpose: 'status_list', maxLength: 256 * 1024 } as const
/** Maximum seconds before a process asks the store for revocations by others. */
export const maxRefreshSeconds = 5
/** Milliseconds between attempts while the store or a signer is down. */
const retryMs = 1000
const signMs = 2500

const compress = promisify<Buffer, Buffer>(deflate)

const notFound = (): OAuthError => new OAuthError('invalid_request', 'There is no such status list.', { status: 404 })

export const statusListUri = (issuer: string, list: string): string =>
  `${issuer.replace(/\/$/, '')}/status-lists/${list}`

/**
 * Signs lists on demand: once in `ttlSeconds`, and after a revocation. While the store or the signers are down, the
 * last one is served until it expires.
 */
export const createListPublication = (options: ListPublicationOptions): ListPublication => {
  const { lists, ids, alg, issuer, ttlSeconds, clock, audit, log, builds } = options
  const sign = createSignToken(options.ring)
  const refreshSeconds = Math.min(maxRefreshSeconds, ttlSeconds)
  const known = new Map<string, Known>()
  let turn: Promise<unknown> = Promise.resolve()

  const isOver = (id: string): boolean => endOf(id) <= epochSeconds(clock)
  /** Also holds after the clock was set back. */
  const isWithin = (milliseconds: number, since: number): boolean => Math.abs(clock() - since) < milliseconds

  const build = async (id: string): Promise<Published> => {
    const started = performance.now()
    const { bytes, version } = lists.get(id).bitmap
    const iat = epochSeconds(clock)
    const exp = iat + ttlSeconds * statusListLifetimes
    const sub = statusListUri(issuer, id)
    // Compresses a copy, because bits may be set meanwhile. Runs on the thread pool; the best compression takes ten
    // times as long to save a tenth.
    const lst = (await compress(Buffer.from(bytes))).toString('base64url')
    const claims = { iss: issuer, sub, iat, exp, ttl: ttlSeconds, status_list: { bits: 1, lst } }
    const late = (): Error => new Unavailable('keys', 'no', 'A status list was not signed in time.')
    const by = { priority: 'machine', clientId: 'status_list' } as const
    const signed = await withDeadline(signMs, (signal) => sign(profile, alg, claims, { ...by, signal }), late)
    await audit.record({ event: 'status_list.signed', list: id, exp, signatures: [signed.record] })
    builds.add(performance.now() - started)
    const etag = `"${hash('sha256', signed.token, 'base64url').slice(0, 22)}"`
    return { body: Buffer.from(signed.token), etag, version, signedAt: iat * 1000, expiresAt: exp * 1000 }
  }

  /** Builds one list at a time, so that a mass revocation does not occupy the signers. */
  const buildInTurn = (id: string): Promise<Published> => {
    const built = turn.then(() => build(id))
    turn = built.catch(() => undefined)
    return built
  }

  const current = (id: string, published: Published | undefined): Published | undefined => {
    if (published === undefined || !isWithin(ttlSeconds * 1000, published.signedAt)) return undefined
    return lists.get(id).bitmap.version === published.version ? published : undefined
  }

  const isRefreshed = (id: string): boolean => isWithin(refreshSeconds * 1000, lists.get(id).refreshedAt)

  const update = async (id: string, of: Known): Promise<Published> => {
    try {
      if (!isRefreshed(id)) await lists.refresh(id)
      const published = current(id, of.published) ?? (await buildInTurn(id))
      of.published = published
      of.failure = undefined
      return published
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      of.failure = { at: clock(), error }
      log.warn('A status list could not be renewed', { list: id, component: error.component })
      return lastUnexpired(of, error)
    }
  }

  const lastUnexpired = ({ published }: Known, error: Unavailable): Published => {
    if (published === undefined || clock() >= published.expiresAt) throw error
    return published
  }

  const getKnown = (id: string, of: Known): Published | Promise<Published> => {
    if (isOver(id)) {
      known.delete(id)
      throw notFound()
    }
    const published = isRefreshed(id) ? current(id, of.published) : undefined
    if (published !== undefined) return published
    if (of.failure !== undefined && isWithin(retryMs, of.failure.at)) return lastUnexpired(of, of.failure.error)
    return (of.updating ??= update(id, of).finally(() => {
      of.updating = undefined
    }))
  }

  const recognize = async (id: string): Promise<Published> => {
    if (!(await ids.isOurs(id)) || isOver(id)) throw notFound()
    for (const old of known.keys()) if (isOver(old)) known.delete(old)
    let of = known.get(id)
    if (of === undefined) known.set(id, (of = {}))
    return getKnown(id, of)
  }

  return {
    refreshSeconds,
    get(id) {
      const of = known.get(id)
      return of === undefined ? recognize(id) : getKnown(id, of)
    },
  }
}
