import { createHash } from 'node:crypto'
import { decode, isSame, type ForeignScheme } from './scheme.js'

const digests = new Map([
  ['SSHA', { name: 'sha1', bytes: 20 }],
  ['SSHA256', { name: 'sha256', bytes: 32 }],
  ['SSHA384', { name: 'sha384', bytes: 48 }],
  ['SSHA512', { name: 'sha512', bytes: 64 }],
])

const form = /^\{(SSHA(?:256|384|512)?)\}([A-Za-z0-9+/]{28,200}={0,2})$/i

const read = (written: string) => {
  const [, scheme = '', value] = form.exec(written) ?? []
  const digest = digests.get(scheme.toUpperCase())
  if (digest === undefined) return undefined
  const bytes = decode(value)
  return { name: digest.name, hash: bytes.subarray(0, digest.bytes), salt: bytes.subarray(digest.bytes), digest }
}

/** Salted digests of LDAP directories (`userPassword`, RFC 2307 §5.3 and its successors). */
export const ldapDigest: ForeignScheme = {
  accepts(written) {
    const found = read(written)
    return found !== undefined && found.hash.length === found.digest.bytes && found.salt.length > 0
  },
  verify(password, written) {
    const found = read(written)
    if (found === undefined) return Promise.resolve(false)
    const { name, hash, salt } = found
    return Promise.resolve(isSame(createHash(name).update(password).update(salt).digest(), hash))
  },
}
