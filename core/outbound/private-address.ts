import { BlockList, isIP } from 'node:net'

type Range = readonly [address: string, prefix: number]

/**
 * Addresses that are not globally reachable: the special-purpose registries of RFC 6890, multicast and reserved
 * space.
 */
const ipv4: readonly Range[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
]

/** Everything but global unicast, and within it the ranges for tunnels, documentation and 6to4. */
const ipv6: readonly Range[] = [
  ['::', 3],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['4000::', 2],
  ['8000::', 1],
]

const listOf = (ranges: readonly Range[], family: 'ipv4' | 'ipv6'): BlockList => {
  const list = new BlockList()
  for (const [address, prefix] of ranges) list.addSubnet(address, prefix, family)
  return list
}

// Separate lists, because a single one would also match an IPv4 address against IPv6 ranges, as a mapped address.
const lists = { 4: listOf(ipv4, 'ipv4'), 6: listOf(ipv6, 'ipv6') } as const

/** Whether this address is private, this machine, or unroutable. Also true for text that is not an address. */
export const isPrivateAddress = (address: string): boolean => {
  const family = isIP(address)
  if (family === 4) return lists[4].check(address, 'ipv4')
  return family !== 6 || lists[6].check(address, 'ipv6')
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Whether a URL host names this machine. */
export const isLoopbackHost = (hostname: string): boolean => loopback.test(hostname)
