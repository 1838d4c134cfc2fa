import { isIPv4, isIPv6 } from 'node:net'

/**
 * The key under which guesses from one address are counted: an IPv4 address, or the /64 of an IPv6 address, because
 * one subscriber has all of it. An IPv6 address that embeds an IPv4 address counts as that one, however it is
 * written. Undefined when the caller has no address (a unix socket).
 */
export const addressBucket = (address: string): string | undefined => {
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return undefined
  const groups = groupsOf(address)
  if (mapped.every((group, index) => groups[index] === group)) return embedded(groups)
  if (translated.every((group, index) => groups[index] === group)) return embedded(groups)
  // The position of the IPv4 address in a local prefix depends on the prefix's length (RFC 6052 §2.2), so the whole
  // address is used.
  const counted = localPrefix.every((group, index) => groups[index] === group) ? groups : groups.slice(0, 4)
  return counted.map((group) => group.toString(16)).join(':')
}

/** `::ffff:0:0/96`: how a dual-stack socket names an IPv4 peer (RFC 4291 §2.5.5.2). */
const mapped = [0, 0, 0, 0, 0, 0xffff]
/** `64:ff9b::/96`: IPv4 peers behind a NAT64 (RFC 6052 §2.1). */
const translated = [0x64, 0xff9b, 0, 0, 0, 0]
/** `64:ff9b:1::/48`: the same with a local-use prefix (RFC 8215). */
const localPrefix = [0x64, 0xff9b, 1]

const embedded = (groups: readonly number[]): string =>
  groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')

/** The eight groups of an IPv6 address, in any spelling that `isIPv6` accepts. */
const groupsOf = (address: string): readonly number[] => {
  const hexadecimal = address
    .replace(/%.*$/, '')
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
      [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
    )
  const [before = [], after = []] = hexadecimal
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':').map((group) => Number.parseInt(group, 16))))
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}
