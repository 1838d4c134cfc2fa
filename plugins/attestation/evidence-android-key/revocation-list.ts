import { epochSeconds, Unavailable, type Clock, type Outbound } from '../../../core/api/index.js'
import type { Options } from './options.js'
import { readList, type RevokedSerials } from './read-list.js'

/** The list that Google publishes has some hundred KiB. */
const maxBytes = 8 * 1024 * 1024

interface ListOptions {
  readonly clock: Clock
  readonly outbound: Outbound
}

/**
 * The list in force. A fetched list is fetched once for all waiting callers, and again when it is too old; if that
 * fails, the last one is used for a stated time. Throws `Unavailable` when there is none.
 */
export const createRevocationList = (
  {
    revocation_list: given,
    revocation_list_url: url,
    revocation_list_max_age_secs: maxAge,
    revocation_list_stale_secs: stale,
  }: Options,
  { clock, outbound }: ListOptions,
): (() => Promise<RevokedSerials>) => {
  if (url === undefined) {
    const serials = readList(given ?? '') ?? new Set()
    return async () => serials
  }
  let known: { readonly serials: RevokedSerials; readonly at: number } | undefined
  let loading: Promise<RevokedSerials> | undefined
  let triedAt = Number.NEGATIVE_INFINITY

  // Not bound to the signal of a request, because others wait for the same fetch. It has its own deadline.
  const fetchList = async (): Promise<RevokedSerials> => {
    triedAt = epochSeconds(clock)
    const text = Buffer.from(await outbound.fetch(url, 'application/json', { maxBytes })).toString('utf8')
    const serials = readList(text)
    if (serials === undefined)
      throw new Unavailable('attestation.revocation_list', 'no', 'It is no list of the right form.')
    known = { serials, at: triedAt }
    return serials
  }
  const load = (): Promise<RevokedSerials> => (loading ??= fetchList().finally(() => (loading = undefined)))

  return async () => {
    const now = epochSeconds(clock)
    // Setting the clock back must not make a list younger.
    const age = known === undefined ? Number.POSITIVE_INFINITY : Math.abs(now - known.at)
    if (known !== undefined && age < maxAge) return known.serials
    const last = known !== undefined && age < maxAge + stale ? known.serials : undefined
    // An address that does not answer is not tried at every enrolment.
    if (last !== undefined && Math.abs(now - triedAt) < retrySeconds) return last
    try {
      return await load()
    } catch (error) {
      if (last !== undefined && error instanceof Unavailable) return last
      throw error
    }
  }
}

const retrySeconds = 10
