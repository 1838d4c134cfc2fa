import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { createTrustedProxies, normalize, peerOf } from './trusted-proxies.js'

const maxHops = 16

/**
 * Reads a caller's address. `X-Forwarded-For` is believed from the right, as long as each hop is one of
 * `trustedProxies`, as `createTrustedProxies` reads them. Throws `TypeError` for an entry that it cannot read.
 */
export const createAddressReader = (trustedProxies: readonly string[]): ((request: IncomingMessage) => string) => {
  const isTrusted = createTrustedProxies(trustedProxies)

  return (request) => {
    const peer = peerOf(request)
    const forwarded = request.headers['x-forwarded-for']
    if (trustedProxies.length === 0 || typeof forwarded !== 'string' || !isTrusted(peer)) return peer
    let address = peer
    let end = forwarded.length
    for (let hop = 0; hop < maxHops && end >= 0; hop++) {
      const comma = end === 0 ? -1 : forwarded.lastIndexOf(',', end - 1)
      const candidate = parseHop(forwarded.slice(comma + 1, end))
      if (candidate === undefined) return address
      address = candidate
      if (!isTrusted(address)) return address
      end = comma
    }
    return address
  }
}

/** Parses an address with or without a port, and returns undefined for anything else. */
const parseHop = (text: string): string | undefined => {
  const hop = text.trim()
  if (hop.length > 64) return undefined
  if (isIP(hop) !== 0) return normalize(hop)
  const bare = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(hop)?.[1]
  return bare !== undefined && isIP(bare) !== 0 ? normalize(bare) : undefined
}
