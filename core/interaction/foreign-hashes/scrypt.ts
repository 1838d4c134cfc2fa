import { createCipheriv, scrypt as derive, type ScryptOptions } from 'node:crypto'
import { decode, encode, isSame, type ForeignScheme } from './scheme.js'

const derived = (password: string, salt: Uint8Array, bytes: number, options: ScryptOptions): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const done = (error: Error | null, key: Buffer): void => (error === null ? resolve(key) : reject(error))
    derive(password, salt, bytes, options, done)
  })

interface Cost {
  readonly ln: number
  readonly r: number
  readonly p: number
}

/** The most bytes of memory, and of work: 0.35 s. */
const mostBytes = 128 * 1024 * 1024

const isWithin = ({ ln, r, p }: Cost): boolean =>
  ln >= 1 && ln <= 20 && r >= 1 && p >= 1 && 128 * 2 ** ln * r * p <= mostBytes

const optionsOf = ({ ln, r, p }: Cost): ScryptOptions => ({ N: 2 ** ln, r, p, maxmem: 2 * mostBytes })

const form = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{0,172})\$([A-Za-z0-9+/]{22,172})$/

export interface ScryptHash extends Cost {
  readonly salt: Uint8Array
  readonly hash: Uint8Array
}

/** Writes a hash as it is stored: `$scrypt$ln=15,r=8,p=1$salt$hash`. */
export const writeScrypt = ({ ln, r, p, salt, hash }: ScryptHash): string =>
  `$scrypt$ln=${String(ln)},r=${String(r)},p=${String(p)}$${encode(salt)}$${encode(hash)}`

const read = (written: string): ScryptHash | undefined => {
  const found = form.exec(written)
  if (found === null) return undefined
  const [ln = 0, r = 0, p = 0] = found.slice(1, 4).map(Number)
  return { ln, r, p, salt: decode(found[4]), hash: decode(found[5]) }
}

/** scrypt (RFC 7914). */
export const scrypt: ForeignScheme = {
  accepts(written) {
    const found = read(written)
    return found !== undefined && isWithin(found) && found.hash.length >= 16
  },
  async verify(password, written) {
    const found = read(written)
    if (found === undefined) return false
    return isSame(await derived(password, found.salt, found.hash.length, optionsOf(found)), found.hash)
  },
}

const firebaseForm =
  /^\$firebase-scrypt\$ln=(\d{1,2}),r=(\d{1,2})\$([A-Za-z0-9+/]{0,172})\$([A-Za-z0-9+/]{0,44})\$([A-Za-z0-9+/]{22,172})\$([A-Za-z0-9+/]{22,172})$/

/** A hash of Firebase with the parameters of its project. */
export interface FirebaseHash extends Omit<ScryptHash, 'p'> {
  readonly separator: Uint8Array
  readonly signerKey: Uint8Array
}

/** Writes a hash as it is stored: `$firebase-scrypt$ln=14,r=8$salt$separator$signer key$hash`. */
export const writeFirebase = ({ ln, r, salt, separator, signerKey, hash }: FirebaseHash): string =>
  ['', 'firebase-scrypt', `ln=${String(ln)},r=${String(r)}`, ...[salt, separator, signerKey, hash].map(encode)].join(
    '$',
  )

const readFirebase = (written: string): FirebaseHash | undefined => {
  const found = firebaseForm.exec(written)
  if (found === null) return undefined
  const [ln = 0, r = 0] = found.slice(1, 3).map(Number)
  const [salt, separator, signerKey, hash] = found.slice(3).map(decode)
  return salt && separator && signerKey && hash && { ln, r, salt, separator, signerKey, hash }
}

/** Firebase's variant (github.com/firebase/scrypt): the derived key encrypts a key of the project, which is compared. */
export const firebaseScrypt: ForeignScheme = {
  accepts(written) {
    const found = readFirebase(written)
    return found !== undefined && isWithin({ ...found, p: 1 }) && found.hash.length === found.signerKey.length
  },
  async verify(password, written) {
    const found = readFirebase(written)
    if (found === undefined) return false
    const { salt, separator, signerKey, hash } = found
    const key = await derived(password, Buffer.concat([salt, separator]), 32, optionsOf({ ...found, p: 1 }))
    const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
    return isSame(Buffer.concat([cipher.update(signerKey), cipher.final()]), hash)
  },
}
