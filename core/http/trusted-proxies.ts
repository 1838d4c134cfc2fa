import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

export const unixPeer = 'unix'

/** Returns the peer of the connection: an address, or `unix` on a unix socket. */
export const peerOf = (request: IncomingMessage): string => normalize(request.socket.remoteAddress ?? unixPeer)

/** A dual-stack listener reports IPv4 peers as mapped IPv6 addresses (RFC 4291 §2.5.5.2). */
export const normalize = (address: string): string => {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  return mapped ?? address
}

/**
 * Returns a function that checks whether an address is one of `trustedProxies`: CIDRs, addresses, or `unix` for peers
 * on a unix socket. Throws `TypeError` for any other entry.
 */
export const createTrustedProxies = (trustedProxies: readonly string[]): ((address: string) => boolean) => {
  const trusted = new BlockList()
  for (const entry of trustedProxies) if (entry !== unixPeer) addRange(trusted, entry)
  const trustsUnix = trustedProxies.includes(unixPeer)
  return (address) =>
    address === unixPeer ? trustsUnix : trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

const addRange = (list: BlockList, entry: string): void => {
  const [address = '', bits] = entry.split('/')
  const version = isIP(address)
  const size = version === 6 ? 128 : 32
  const prefix = bits === undefined ? size : /^\d{1,3}$/.test(bits) ? Number(bits) : -1
  if (version === 0 || prefix < 0 || prefix > size) throw new TypeError(`not an address range: ${entry}`)
  list.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4')
}
