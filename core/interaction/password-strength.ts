import { said, type Said } from '../oauth/said.js'
import { preparePassword } from './password-hasher.js'
import { canonicalUsername } from './username.js'

const minLength = 8
const recommendedLength = 12
const maxBytes = 1024

/** Counts characters as people do, so that an emoji is one (NIST SP 800-63B §5.1.1.2). */
const lengthOf = (password: string): number => [...preparePassword(password)].length

/** Returns the distance from each character to the next. A zero follows a nine. */
const stepsOf = (text: string): readonly number[] => {
  const codes = [...text.toLowerCase()].map((character) => character.codePointAt(0) ?? 0)
  return codes.slice(1).map((code, index) => {
    const before = codes[index] ?? 0
    if (before === 0x39 && code === 0x30) return 1
    return before === 0x30 && code === 0x39 ? -1 : code - before
  })
}

/** Recognises runs such as `aaaaaaaa`, `12345678` and `hgfedcba`. */
const isRun = (text: string): boolean => {
  const [first = NaN, ...others] = stepsOf(text)
  return Math.abs(first) <= 1 && others.every((step) => step === first)
}

/** The reason why a text cannot be a password. */
export interface PasswordFault {
  /** The complete sentence, as a page shows it. */
  readonly said: Said
  /** The end of an English sentence that begins with "the password". */
  readonly text: string
}

/**
 * Returns why a text cannot be the password of this account, or undefined when it can. The rules are those of NIST SP
 * 800-63B §5.1.1.2, which demands length and no mix of character kinds. Characters are counted after the preparation
 * of RFC 8265 §4.2. The text repeats no part of the password.
 */
export const findPasswordFault = (password: string, username: string): PasswordFault | undefined => {
  const prepared = preparePassword(password)
  if (lengthOf(password) < minLength)
    return { said: said('password_short'), text: `must have at least ${String(minLength)} characters` }
  if (Buffer.byteLength(password) > maxBytes)
    return { said: said('password_long'), text: `must have at most ${String(maxBytes)} bytes` }
  const name = canonicalUsername(prepared)
  if (name !== undefined && name === canonicalUsername(username))
    return { said: said('password_is_username'), text: 'must not be the username' }
  if (isRun(prepared))
    return { said: said('password_run'), text: 'must not be one character repeated, or a run such as 12345678' }
  return undefined
}

/**
 * Returns advice on a password that is allowed but could be better: the end of a sentence that begins with "the
 * password".
 */
export const findPasswordAdvice = (password: string): string | undefined =>
  lengthOf(password) < recommendedLength
    ? `has fewer than ${String(recommendedLength)} characters: longer ones resist guessing longer if the hash is stolen`
    : undefined
