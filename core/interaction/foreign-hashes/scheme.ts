import { timingSafeEqual } from 'node:crypto'

/**
 * How another product hashed passwords. A hash of it is verified as it is, until its person signs in and it is
 * replaced. One verification takes at most half a second of one core, or else the hash is not one of the scheme.
 */
export interface ForeignScheme {
  /** Tells whether a stored hash belongs to the scheme and costs no more than it may. */
  accepts(hash: string): boolean
  /** Compares in constant time. The hash is one that `accepts` accepts. */
  verify(password: string, hash: string): Promise<boolean>
}

/** Base64 without padding, as in PHC strings. */
export const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replace(/=+$/, '')

export const decode = (text = ''): Buffer => Buffer.from(text, 'base64')

/** Compares two digests. Those of different lengths differ. */
export const isSame = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)
