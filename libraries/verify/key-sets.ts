import { checkMembers, kinds } from '../wire/options.js'
import { fetchText, isSafeUrl, type Fetch } from './fetch-text.js'
import { importIssuerKey, readKeySet, type IssuerKey } from './issuer-key.js'
import { parseServed } from './jws.js'
import { refused } from './refusal.js'

/** A trusted issuer: its URL, whose metadata lead to its keys; or with its keys, or their address. */
export type TrustedIssuer =
  | string
  | { readonly issuer: string; readonly jwks_uri: string }
  | { readonly issuer: string; readonly jwks: { readonly keys: readonly object[] } }

export interface KeySets {
  readonly trusts: (issuer: unknown) => issuer is string
  /**
   * Finds a key of a trusted issuer; the object stays the same while the issuer publishes the same key. Throws
   * `unknown_kid`, or `keys_unavailable` when the key set cannot be fetched and may contain the key.
   */
  readonly find: (issuer: string, kid: string) => IssuerKey | Promise<IssuerKey>
}

export interface KeySetOptions {
  readonly issuers: readonly TrustedIssuer[]
  readonly fetch: Fetch
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** Milliseconds for which a key set that cannot be fetched again is used beyond its ten minutes. */
  readonly staleFor: number
  /** The required `use` of the keys. Default `sig`. */
  readonly use?: string
}

/** Milliseconds. */
const freshFor = 600_000
/** Milliseconds between two fetches. After a success, only an unknown `kid` causes one before `freshFor`. */
const betweenFetches = 60_000
const betweenAttempts = 5000
const mostBytes = 262_144

/** Throws a `TypeError` for issuers whose keys cannot be trusted. */
export const checkIssuers = (issuers: readonly TrustedIssuer[]): void => {
  const byAddress = issuers.filter((trusted) => typeof trusted === 'string')
  for (const url of byAddress) if (!isSafeUrl(url)) throw new TypeError(`${url} is not a URL with https`)
  checkKeySources('issuers', issuers, 'issuer')
}

/**
 * Throws a `TypeError` unless each entry is a name, or an object with its name in the member `named` and either
 * `jwks_uri` or `jwks`. With two entries of one name it would be unclear which keys count.
 */
export const checkKeySources = (what: string, sources: readonly unknown[], named: 'issuer' | 'trustDomain'): void => {
  if (sources.length === 0) throw new TypeError(`${what} is empty`)
  const names = sources.map((source, index) => {
    if (typeof source === 'string' && named === 'issuer') return source
    const path = `${what}[${String(index)}]`
    checkMembers(path, source, { [named]: kinds.name, jwks_uri: kinds.name, jwks: isKeySet }, [named])
    const { [named]: name, jwks_uri: uri, jwks } = source as Readonly<Record<string, unknown>>
    if ((uri === undefined) === (jwks === undefined)) throw new TypeError(`${path} needs one of jwks_uri and jwks`)
    if (uri !== undefined && !isSafeUrl(uri as string)) throw new TypeError(`${path}.jwks_uri is not a URL with https`)
    return name
  })
  if (new Set(names).size < names.length) throw new TypeError(`${what} has a name twice`)
}

const isKeySet = (value: unknown): boolean => readKeySet(value) !== undefined

export const createKeySets = ({ issuers, ...options }: KeySetOptions): KeySets => {
  const sets = new Map(
    issuers.map((trusted) => {
      const issuer = typeof trusted === 'string' ? trusted : trusted.issuer
      return [issuer, createKeySet(issuer, trusted, options)]
    }),
  )
  return {
    trusts: (issuer): issuer is string => typeof issuer === 'string' && sets.has(issuer),
    find: (issuer, kid) => {
      const set = sets.get(issuer)
      if (!set) throw refused('untrusted_issuer')
      return set(kid)
    },
  }
}

type Find = KeySets['find'] extends (issuer: string, ...rest: infer Rest) => infer Found
  ? (...rest: Rest) => Found
  : never

const createKeySet = (
  issuer: string,
  trusted: TrustedIssuer,
  { fetch, clock, staleFor, use }: Omit<KeySetOptions, 'issuers'>,
): Find => {
  let keys = new Map<string, { readonly text: string; readonly key: IssuerKey }>()
  let fetchedAt = -Infinity
  let attemptedAt = -Infinity
  let failure: unknown
  let running: Promise<void> | undefined

  const keep = (set: unknown): void => {
    const read = readKeySet(set)
    if (!read) throw new Error(`What ${issuer} publishes is not a key set.`)
    const next: typeof keys = new Map()
    for (const [kid, jwk] of read) {
      const text = JSON.stringify(jwk)
      const known = keys.get(kid)
      const key = known?.text === text ? known.key : importIssuerKey(jwk, use)
      if (key) next.set(kid, { text, key })
    }
    keys = next
  }

  const download = async (): Promise<void> => {
    const uri =
      typeof trusted === 'string' ? await findKeySet(issuer, fetch) : 'jwks_uri' in trusted && trusted.jwks_uri
    if (uri === false) return
    keep(
      parseServed(
        await fetchText(fetch, uri, { headers: { accept: 'application/jwk-set+json, application/json' } }, mostBytes),
      ),
    )
  }
  /** Never rejects. Runs once at a time. */
  const refresh = (): Promise<void> => {
    attemptedAt = clock()
    return (running ??= download()
      .then(
        () => {
          fetchedAt = clock()
          failure = undefined
        },
        (cause: unknown) => {
          failure = cause ?? new Error('The key set cannot be fetched.')
        },
      )
      .finally(() => {
        running = undefined
      }))
  }

  if (typeof trusted !== 'string' && 'jwks' in trusted) {
    keep(trusted.jwks)
    return (kid) => {
      const found = keys.get(kid)
      if (!found) throw refused('unknown_kid')
      return found.key
    }
  }

  const answer = (kid: string): IssuerKey => {
    const found = clock() - fetchedAt < freshFor + staleFor ? keys.get(kid) : undefined
    if (found) return found.key
    throw failure === undefined ? refused('unknown_kid') : refused('keys_unavailable', failure)
  }

  return (kid) => {
    const now = clock()
    const isFresh = now - fetchedAt < freshFor
    if (isFresh && keys.has(kid)) return answer(kid)
    const pause = isFresh && failure === undefined ? betweenFetches : betweenAttempts
    if (running || now - attemptedAt >= pause) {
      const refreshed = refresh()
      // While the issuer is down, requests whose key is cached do not wait.
      const isStale = failure !== undefined && now - fetchedAt < freshFor + staleFor
      if (!(isStale && keys.has(kid))) return refreshed.then(() => answer(kid))
    }
    return answer(kid)
  }
}

/** RFC 8414 §3, OpenID Connect Discovery §4. */
const findKeySet = async (issuer: string, fetch: Fetch): Promise<string> => {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const metadata = parseServed(await fetchText(fetch, url, { headers: { accept: 'application/json' } }, mostBytes))
  const { issuer: named, jwks_uri: uri } = metadata
  if (named !== issuer || typeof uri !== 'string' || !isSafeUrl(uri)) throw new Error(`${url} is not of ${issuer}.`)
  return uri
}
