import { randomInt } from 'node:crypto'
import { hashOpaqueToken } from '../../opaque-token.js'

/** So many at a time. */
export const recoveryCodeCount = 10

/** Lower case and digits, without those that look alike. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const groups = 4
const groupLength = 4

const newGroup = (): string => Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join('')

/** Ten codes of 79 bits each, in groups: `abcd-efgh-jkmn-pqrs`. Nobody guesses one, so that a plain hash hides it. */
export const newRecoveryCodes = (): readonly string[] =>
  Array.from({ length: recoveryCodeCount }, () => Array.from({ length: groups }, newGroup).join('-'))

/** Of the person alone: the code of another person has another hash. Case, hyphens and spaces do not count. */
export const hashRecoveryCode = (subject: string, typed: string): string =>
  hashOpaqueToken(`${subject}\n${typed.toLowerCase().replaceAll(/[\s-]/g, '')}`)
