import { isIPv4, isIPv6 } from 'node:net'

/**
 * What guesses from one place are counted under: an IPv4 address, or the /64 of an IPv6 address, since one subscriber
 * has the whole of it. Undefined where the caller has no address (a unix socket).
 */
export const addressBucket = (address: string): string | undefined => {
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return undefined
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  const [head = '', tail] = address
    .replace(/%.*$/, '')
    .replace(/[\d.]+\.\d+$/, '0:0')
    .toLowerCase()
    .split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0'), ...after]
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')
}
