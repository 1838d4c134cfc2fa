import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

const maxHops = 16
const unixPeer = 'unix'

/**
 * Reads a caller's address. `X-Forwarded-For` is believed from the right, for as long as each hop is one of
 * `trustedProxies`: CIDRs, addresses, or `unix` for peers on a unix socket, whose address is `unix` otherwise.
 * Throws `TypeError` for an entry that is none of these.
 */
export const createAddressReader = (trustedProxies: readonly string[]): ((request: IncomingMessage) => string) => {
  const trusted = new BlockList()
  for (const entry of trustedProxies) if (entry !== unixPeer) addRange(trusted, entry)
  const trustsUnix = trustedProxies.includes(unixPeer)
  const isTrusted = (address: string): boolean =>
    address === unixPeer ? trustsUnix : trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

  return (request) => {
    const peer = normalize(request.socket.remoteAddress ?? unixPeer)
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

const addRange = (list: BlockList, entry: string): void => {
  const [address = '', bits] = entry.split('/')
  const version = isIP(address)
  const size = version === 6 ? 128 : 32
  const prefix = bits === undefined ? size : /^\d{1,3}$/.test(bits) ? Number(bits) : -1
  if (version === 0 || prefix < 0 || prefix > size) throw new TypeError(`not an address range: ${entry}`)
  list.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4')
}

/** An address with or without a port; undefined for anything else. */
const parseHop = (text: string): string | undefined => {
  const hop = text.trim()
  if (hop.length > 64) return undefined
  if (isIP(hop) !== 0) return normalize(hop)
  const bare = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(hop)?.[1]
  return bare !== undefined && isIP(bare) !== 0 ? normalize(bare) : undefined
}

/** A dual-stack listener tells IPv4 peers as mapped IPv6 addresses (RFC 4291 §2.5.5.2). */
const normalize = (address: string): string => {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  return mapped ?? address
}
