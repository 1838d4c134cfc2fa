/** One line of what a client asks for. `raw` is text of the client's or the operator's own. */
export interface Wish {
  readonly text: string
  readonly raw?: string
  readonly description?: string
}

/** What people read about a scope, by language tag (RFC 5646). */
export interface ScopeTexts {
  readonly name: string
  readonly title?: Readonly<Record<string, string>> | undefined
  readonly description?: Readonly<Record<string, string>> | undefined
}

/** OIDC Core §5.4 and §11. */
const scopeTexts = new Map([
  ['openid', 'Know who you are'],
  ['profile', 'See your profile, such as your name and picture'],
  ['email', 'See your email address'],
  ['address', 'See your postal address'],
  ['phone', 'See your phone number'],
  ['offline_access', 'Keep this access while you are away'],
])

/** OIDC Core §5.1, where the name alone would not be plain. */
const claimTexts = new Map([
  ['sub', 'your identifier'],
  ['name', 'your full name'],
  ['given_name', 'your given name'],
  ['family_name', 'your family name'],
  ['middle_name', 'your middle name'],
  ['nickname', 'your nickname'],
  ['preferred_username', 'your username'],
  ['profile', 'your profile page'],
  ['picture', 'your picture'],
  ['website', 'your website'],
  ['email', 'your email address'],
  ['email_verified', 'whether your email address is verified'],
  ['gender', 'your gender'],
  ['birthdate', 'your date of birth'],
  ['zoneinfo', 'your time zone'],
  ['locale', 'your language'],
  ['phone_number', 'your phone number'],
  ['phone_number_verified', 'whether your phone number is verified'],
  ['address', 'your postal address'],
  ['updated_at', 'when your profile last changed'],
])

/** The language of the pages, else the first that there is. */
export const textOf = (texts: ScopeTexts['title']): string | undefined => texts?.['en'] ?? Object.values(texts ?? {})[0]

const describeScope = (scope: string, { title, description }: Partial<ScopeTexts> = {}): Wish => {
  const text = textOf(title) ?? scopeTexts.get(scope)
  const about = textOf(description)
  return {
    ...(text === undefined ? { text: 'Use the permission', raw: scope } : { text }),
    ...(about !== undefined && { description: about }),
  }
}

/** What the consent page lists: scopes in the words of the configuration or in plain words, other names as they are. */
export const createDescribeWishes = (texts: readonly ScopeTexts[]) => {
  const byName = new Map(texts.map((scope) => [scope.name, scope]))
  return (scopes: readonly string[], claims: readonly string[], resources: readonly string[]): readonly Wish[] => [
    ...scopes.map((scope) => describeScope(scope, byName.get(scope))),
    ...claims.map(describeClaim),
    ...resources.map((resource): Wish => ({ text: 'Use this access at', raw: resource })),
  ]
}

const describeClaim = (claim: string): Wish => {
  const text = claimTexts.get(claim)
  return text === undefined ? { text: 'See the detail', raw: claim } : { text: `See ${text}` }
}
