const maxLength = 256

/**
 * Returns the one spelling under which an account is found and guesses are counted: trimmed, full and half width
 * folded, lower case, NFC (the UsernameCaseMapped profile of RFC 8265 §3.3). Returns undefined for what cannot be a
 * username: an empty text, over 256 characters, control characters, lone surrogates.
 */
export const canonicalUsername = (username: string): string | undefined => {
  if (username.length > maxLength || /[\p{Cc}\p{Cs}]/u.test(username)) return undefined
  const name = username.normalize('NFKC').toLowerCase().normalize('NFC').trim()
  return name === '' || name.length > maxLength ? undefined : name
}
