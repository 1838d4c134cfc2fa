/** Words by which operators find clients and people, without case, accents and characters that nobody sees. */

/** Characters of a word; longer ones are cut. */
const maxWord = 32
/** Words of one text; a name with more is found by the first ones. */
const maxWords = 12

const fold = (text: string): string =>
  text
    .slice(0, 1024)
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cc}\p{Cf}]/gu, '')
    .toLowerCase()

/** Returns the words of a text, each once. Letters and digits of any script make words. */
export const wordsOf = (text: string): readonly string[] => {
  const words = fold(text).match(/[\p{L}\p{N}]+/gu) ?? []
  return [...new Set(words.map((word) => [...word].slice(0, maxWord).join('')))].slice(0, maxWords)
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Returns the words under which an identifier is listed: of a UUID the first part alone. */
const listedOfId = (id: string): readonly string[] => (uuid.test(id) ? wordsOf(id.slice(0, 8)) : wordsOf(id))

/** Returns the words under which an address is listed: all people of a company have the same domain. */
const listedOfAddress = (address: string): readonly string[] => wordsOf(address.slice(0, address.lastIndexOf('@')))

/** The terms by which a record is found. */
export interface SearchTerms {
  /** The words under which it is listed. */
  readonly listed: readonly string[]
  /** Every word that it has. A search compares all of its words with these. */
  readonly all: readonly string[]
}

const combined = (listed: readonly string[], texts: readonly string[]): SearchTerms => ({
  listed: [...new Set(listed)],
  all: [...new Set([...listed, ...texts.flatMap(wordsOf)])],
})

/** Claims that name a person (OpenID Connect Core §5.1). */
const nameClaims = ['name', 'given_name', 'middle_name', 'family_name', 'nickname', 'preferred_username']

export interface NamedPerson {
  readonly sub: string
  readonly username?: string | undefined
  readonly claims?: object | undefined
}

export const termsOfPerson = ({ sub, username = '', claims = {} }: NamedPerson): SearchTerms => {
  const texts = new Map(
    Object.entries(claims).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
  const names = nameClaims.map((name) => texts.get(name) ?? '')
  const address = texts.get('email') ?? ''
  const listed = [...listedOfId(sub), ...wordsOf(username), ...names.flatMap(wordsOf), ...listedOfAddress(address)]
  return combined(listed, [sub, address])
}

export interface NamedClient {
  readonly client_id: string
  readonly client_name?: string | undefined
}

export const termsOfClient = ({ client_id, client_name = '' }: NamedClient): SearchTerms =>
  combined([...listedOfId(client_id), ...wordsOf(client_name)], [client_id])

/** Returns the words of a search under which its results may be listed, the longest first: none of a domain. */
export const listingWords = (query: string): readonly string[] => {
  const text = query.trim()
  const own = /^[0-9a-f]{8}-[0-9a-f-]*$/i.test(text) ? text.slice(0, 8) : (text.split('@')[0] ?? '')
  return wordsOf(own).toSorted((one, other) => other.length - one.length)
}

/** Tells whether a record has a word that begins with each word of the search. */
export const hasWords = (terms: SearchTerms, words: readonly string[]): boolean =>
  words.every((word) => terms.all.some((one) => one.startsWith(word)))
