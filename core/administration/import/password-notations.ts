import { findForeignScheme } from '../../interaction/foreign-hashes/foreign-hashes.js'
import { isPbkdf2Digest, writePbkdf2 } from '../../interaction/foreign-hashes/pbkdf2.js'
import { writeScrypt } from '../../interaction/foreign-hashes/scrypt.js'

const fromBase64 = (text = ''): Buffer => Buffer.from(text, 'base64')

const pbkdf2Of = (digest: string, iterations: string | undefined, salt: Buffer, hash: Buffer): string | undefined =>
  isPbkdf2Digest(digest) ? writePbkdf2({ digest, iterations: Number(iterations), salt, hash }) : undefined

const lnOf = (n: string | undefined): number => Math.log2(Number(n))

/** ASP.NET Core Identity (`PasswordHasher<TUser>`): version 2 and version 3, in base64. */
const fromAspNet = (text: string): string | undefined => {
  const bytes = fromBase64(text)
  if (bytes[0] === 0 && bytes.length === 49)
    return writePbkdf2({ digest: 'sha1', iterations: 1000, salt: bytes.subarray(1, 17), hash: bytes.subarray(17) })
  if (bytes[0] !== 1 || bytes.length < 13 + 16) return undefined
  const digest = (['sha1', 'sha256', 'sha512'] as const)[bytes.readUInt32BE(1)]
  const saltBytes = bytes.readUInt32BE(9)
  if (digest === undefined || saltBytes > bytes.length - 13 - 16) return undefined
  const [salt, hash] = [bytes.subarray(13, 13 + saltBytes), bytes.subarray(13 + saltBytes)]
  return writePbkdf2({ digest, iterations: bytes.readUInt32BE(5), salt, hash })
}

/** One notation: what it looks like, and the hash as it is stored. */
type Notation = readonly [form: RegExp, read: (found: readonly string[]) => string | undefined]

const notations: readonly Notation[] = [
  // Directories name the scheme of what crypt(3) and Argon2 made.
  [/^\{(?:crypt|argon2|bcrypt)\}(\$.*)$/i, ([, hash]) => hash],
  // Django: the salt is text.
  [
    /^pbkdf2_(sha1|sha256)\$(\d+)\$([^$]*)\$([^$]+)$/,
    ([, digest = '', iterations, salt, hash]) =>
      pbkdf2Of(digest, iterations, Buffer.from(salt ?? ''), fromBase64(hash)),
  ],
  [
    /^scrypt\$(\d+)\$([^$]+)\$(\d+)\$(\d+)\$([^$]+)$/,
    ([, n, salt = '', r, p, hash]) =>
      writeScrypt({ ln: lnOf(n), r: Number(r), p: Number(p), salt: Buffer.from(salt), hash: fromBase64(hash) }),
  ],
  [/^bcrypt\$(\$2.*)$/, ([, hash]) => hash],
  [/^argon2(\$argon2.*)$/, ([, hash]) => hash],
  // Werkzeug: the salt is text, the hash hexadecimal.
  [
    /^pbkdf2:(sha1|sha256|sha512):(\d+)\$([^$]+)\$([0-9a-f]+)$/,
    ([, digest = '', iterations, salt = '', hash = '']) =>
      pbkdf2Of(digest, iterations, Buffer.from(salt), Buffer.from(hash, 'hex')),
  ],
  [
    /^scrypt:(\d+):(\d+):(\d+)\$([^$]+)\$([0-9a-f]+)$/,
    ([, n, r, p, salt = '', hash = '']) =>
      writeScrypt({ ln: lnOf(n), r: Number(r), p: Number(p), salt: Buffer.from(salt), hash: Buffer.from(hash, 'hex') }),
  ],
  // passlib: base64 with a dot instead of a plus.
  [
    /^\$pbkdf2(?:-(sha256|sha512))?\$(\d+)\$([./A-Za-z0-9]*)\$([./A-Za-z0-9]+)$/,
    ([, digest, iterations, salt = '', hash = '']) =>
      pbkdf2Of(
        digest === undefined || digest === '' ? 'sha1' : digest,
        iterations,
        fromBase64(salt.replaceAll('.', '+')),
        fromBase64(hash.replaceAll('.', '+')),
      ),
  ],
  [/^(A[A-Za-z0-9+/]{38,}={0,2})$/, ([, text = '']) => fromAspNet(text)],
]

/**
 * Reads a hash in the notation of the product that made it, and returns it as it is stored. Undefined: the notation is
 * unknown, or to verify the hash would take longer than a sign-in may.
 */
export const readPasswordHash = (written: string): string | undefined => {
  for (const [form, read] of notations) {
    const found = form.exec(written)
    const hash = found === null ? undefined : read(found)
    if (hash !== undefined && findForeignScheme(hash) !== undefined) return hash
  }
  return findForeignScheme(written) === undefined ? undefined : written
}
