import { pbkdf2 as derive } from 'node:crypto'
import { promisify } from 'node:util'
import { decode, encode, isSame, type ForeignScheme } from './scheme.js'

const derived = promisify(derive)

/** Bytes of one block, and iterations of blocks that take half a second. */
const digests = {
  sha1: { blockBytes: 20, mostIterations: 1_200_000 },
  sha256: { blockBytes: 32, mostIterations: 2_500_000 },
  sha512: { blockBytes: 64, mostIterations: 1_000_000 },
} as const

export type Pbkdf2Digest = keyof typeof digests

export const isPbkdf2Digest = (name: string): name is Pbkdf2Digest => Object.hasOwn(digests, name)

const form = /^\$pbkdf2-(sha1|sha256|sha512)\$i=(\d{1,8})\$([A-Za-z0-9+/]{0,172})\$([A-Za-z0-9+/]{22,172})$/

export interface Pbkdf2Hash {
  readonly digest: Pbkdf2Digest
  readonly iterations: number
  readonly salt: Uint8Array
  readonly hash: Uint8Array
}

/** Writes a hash as it is stored: `$pbkdf2-sha256$i=27500$salt$hash`. */
export const writePbkdf2 = ({ digest, iterations, salt, hash }: Pbkdf2Hash): string =>
  `$pbkdf2-${digest}$i=${String(iterations)}$${encode(salt)}$${encode(hash)}`

const read = (written: string): Pbkdf2Hash | undefined => {
  const [, digest = '', iterations, salt, hash] = form.exec(written) ?? []
  if (!isPbkdf2Digest(digest)) return undefined
  return { digest, iterations: Number(iterations), salt: decode(salt), hash: decode(hash) }
}

/** PBKDF2 (RFC 8018 §5.2) as Keycloak, Django, Werkzeug and ASP.NET Identity use it. */
export const pbkdf2: ForeignScheme = {
  accepts(written) {
    const found = read(written)
    if (found === undefined || found.iterations < 1 || found.hash.length < 16) return false
    const { blockBytes, mostIterations } = digests[found.digest]
    return found.iterations * Math.ceil(found.hash.length / blockBytes) <= mostIterations
  },
  async verify(password, written) {
    const found = read(written)
    if (found === undefined) return false
    const { digest, iterations, salt, hash } = found
    return isSame(await derived(password, salt, iterations, hash.length, digest), hash)
  },
}
