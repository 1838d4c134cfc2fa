import { randomInt } from 'node:crypto'
import { hashOpaqueToken } from '../../opaque-token.js'

/** The number of codes that are issued at a time. */
export const recoveryCodeCount = 10

/** Lower case letters and digits, without those that look alike. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const groups = 4
const groupLength = 4

const newGroup = (): string => Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join('')

/**
 * Creates ten codes of 79 bits each, in groups: `abcd-efgh-jkmn-pqrs`. They are too long to guess, so an unsalted
 * hash is enough.
 */
export const newRecoveryCodes = (): readonly string[] =>
  Array.from({ length: recoveryCodeCount }, () => Array.from({ length: groups }, newGroup).join('-'))

/**
 * Includes the person, so that the same code of another person has another hash. Case, hyphens and spaces are
 * ignored.
 */
export const hashRecoveryCode = (subject: string, typed: string): string =>
  hashOpaqueToken(`${subject}\n${typed.toLowerCase().replaceAll(/[\s-]/g, '')}`)
