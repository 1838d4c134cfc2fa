import { BlockList, isIPv6 } from 'node:net'
import type { Rule } from './rule.js'

/** The networks of RFC 1918 §3, and the half of RFC 4193 §3.1 that is in use. */
const privateNetworks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fd00::/8']

const parse = (network: string) => {
  const [address = '', bits = ''] = network.split('/')
  return { address, bits: Number(bits), family: isIPv6(address) ? ('ipv6' as const) : ('ipv4' as const) }
}

/**
 * Returns the first private network that lies completely within `network`, which is in CIDR form, or undefined if
 * there is none.
 */
const findPrivateNetworkWithin = (network: string): string | undefined => {
  const outer = parse(network)
  const list = new BlockList()
  list.addSubnet(outer.address, outer.bits, outer.family)
  return privateNetworks.find((inner) => {
    const { address, bits, family } = parse(inner)
    return family === outer.family && outer.bits <= bits && list.check(address, family)
  })
}

/** A trusted peer says which address its caller has, and limits count by that address. */
export const trustedProxies: Rule = ({ config, warn }) => {
  for (const [index, peer] of (config.trusted_proxies ?? []).entries()) {
    const network = peer === undefined || peer === 'unix' ? undefined : findPrivateNetworkWithin(peer)
    if (network !== undefined)
      warn(
        ['trusted_proxies', index],
        `contains all of ${network}: any caller in it could choose the address that rate limits count; list only your proxies`,
      )
  }
}
