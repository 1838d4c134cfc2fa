/**
 * Invisible characters: controls, unassigned and private ones, separators except the plain space, fillers, and the
 * empty Braille cell.
 */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u
const everyUnseen = new RegExp(unseen, 'gu')

/** Arabic letters that do not join the next one, so that a non-joiner after them changes nothing. */
const unjoined =
  '\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5'

/** Viramas of Indic scripts, Myanmar and Khmer, after which a joiner selects another form of the letter. */
const viramas = '\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u1039\u17d2'

/** Joiners between two letters whose shape they change (after RFC 5892, Appendix A.1 and A.2). */
const joiners = new RegExp(
  [
    `(?<=(?![${unjoined}])\\p{Script=Arabic}\\p{M}*)\\u200c(?=\\p{Script=Arabic})`,
    `(?<=[${viramas}])[\\u200c\\u200d](?=\\p{L})`,
  ].join('|'),
  'gu',
)

/** Spaces at an end, and repeated ones, cannot be seen either. */
const strayBlank = /^ | $| {2}/

/** Whether the text has invisible characters, or characters that change its direction. */
export const hasUnseen = (text: string): boolean => unseen.test(text) && unseen.test(text.replaceAll(joiners, ''))

/** Whether the text has anything visible. */
export const hasInk = (text: string): boolean => /\S/u.test(text.replaceAll(everyUnseen, ''))

/** Whether the text is 1 to `maxLength` visible characters in their only spelling. */
export const isPlainText = (text: string, maxLength = Infinity): boolean =>
  text !== '' &&
  text.length <= maxLength &&
  !hasUnseen(text) &&
  !strayBlank.test(text) &&
  text.normalize('NFC') === text

/** The visible part of a typed text: plain, or empty. */
export const toPlainText = (text: string): string => {
  const plain = text.normalize('NFC').replaceAll(/\s/gu, ' ')
  const seen = hasUnseen(plain) ? plain.replaceAll(everyUnseen, '') : plain
  return seen.replaceAll(/ {2,}/g, ' ').trim()
}

/** Writes invisible characters, and those that a terminal would obey, as JSON escapes. */
export const escapeUnseen = (text: string): string =>
  text.replaceAll(everyUnseen, (character) =>
    Array.from({ length: character.length }, (_, index) => index)
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  )
