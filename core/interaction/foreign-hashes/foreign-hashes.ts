import { argon2 } from './argon2.js'
import { bcrypt } from './bcrypt.js'
import { ldapDigest } from './ldap-digest.js'
import { pbkdf2 } from './pbkdf2.js'
import type { ForeignScheme } from './scheme.js'
import { firebaseScrypt, scrypt } from './scrypt.js'

const schemes: readonly ForeignScheme[] = [bcrypt, pbkdf2, argon2, scrypt, firebaseScrypt, ldapDigest]

/** The scheme of a stored hash that another product made. Undefined: none, or it costs too much to verify. */
export const findForeignScheme = (hash: string): ForeignScheme | undefined =>
  schemes.find(({ accepts }) => accepts(hash))
