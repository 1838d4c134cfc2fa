/** One line of what a client asks for. `raw` is text of the client's or the operator's own. */
export interface Wish {
  readonly text: string
  readonly raw?: string
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

/** What the consent page lists: standard names in plain words, others as they are. */
export const describeWishes = (
  scopes: readonly string[],
  claims: readonly string[],
  resources: readonly string[],
): readonly Wish[] => [
  ...scopes.map((scope): Wish => {
    const text = scopeTexts.get(scope)
    return text === undefined ? { text: 'Use the permission', raw: scope } : { text }
  }),
  ...claims.map((claim): Wish => {
    const text = claimTexts.get(claim)
    return text === undefined ? { text: 'See the detail', raw: claim } : { text: `See ${text}` }
  }),
  ...resources.map((resource): Wish => ({ text: 'Use this access at', raw: resource })),
]
