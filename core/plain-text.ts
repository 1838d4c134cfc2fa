/** What is not seen: controls, what is unassigned or private, separators but the plain blank, fillers, the empty Braille cell. */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u
const everyUnseen = new RegExp(unseen, 'gu')

/** Letters of the Arabic script that are not joined to the next one, so that a non-joiner after them changes nothing. */
const unjoined =
  '\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5'

/** Signs of the scripts of India, of Myanmar and of Khmer after which a joiner chooses another form of the letter. */
const viramas = '\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u1039\u17d2'

/** Joiners between two letters that look different with them (after RFC 5892, Appendix A.1 and A.2). */
const joiners = new RegExp(
  [
    `(?<=(?![${unjoined}])\\p{Script=Arabic}\\p{M}*)\\u200c(?=\\p{Script=Arabic})`,
    `(?<=[${viramas}])[\\u200c\\u200d](?=\\p{L})`,
  ].join('|'),
  'gu',
)

/** Nor is it seen how many blanks there are at an end, or together. */
const strayBlank = /^ | $| {2}/

/** Is there anything that nobody can see, or that turns the direction of the text? */
export const hasUnseen = (text: string): boolean => unseen.test(text) && unseen.test(text.replaceAll(joiners, ''))

/** Is there anything to see? */
export const hasInk = (text: string): boolean => /\S/u.test(text.replaceAll(everyUnseen, ''))

/** 1 to `maxLength` characters that people see, in the one spelling that looks so. */
export const isPlainText = (text: string, maxLength = Infinity): boolean =>
  text !== '' &&
  text.length <= maxLength &&
  !hasUnseen(text) &&
  !strayBlank.test(text) &&
  text.normalize('NFC') === text

/** What people see of a text that somebody typed: plain, or empty. */
export const toPlainText = (text: string): string => {
  const plain = text.normalize('NFC').replaceAll(/\s/gu, ' ')
  const seen = hasUnseen(plain) ? plain.replaceAll(everyUnseen, '') : plain
  return seen.replaceAll(/ {2,}/g, ' ').trim()
}

/** The text with whatever is not seen, or what a terminal would obey, written as JSON escapes it. */
export const escapeUnseen = (text: string): string =>
  text.replaceAll(everyUnseen, (character) =>
    Array.from({ length: character.length }, (_, index) => index)
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  )
