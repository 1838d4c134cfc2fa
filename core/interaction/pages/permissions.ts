import type { Translator } from '../languages/translator.js'

/** One line of what a client asks for. `raw` is text written by the client or the operator. */
export interface Wish {
  readonly text: string
  readonly raw?: string
  readonly description?: string
}

/** The text that people read about a scope, by language tag (RFC 5646). */
export interface ScopeTexts {
  readonly name: string
  readonly title?: Readonly<Record<string, string>> | undefined
  readonly description?: Readonly<Record<string, string>> | undefined
}

/** The scopes of OIDC Core §5.4 and §11, whose texts are `scope.{name}`. */
const scopeNames = new Set(['openid', 'profile', 'email', 'address', 'phone', 'offline_access'])

/** The claims of OIDC Core §5.1, whose texts are `claim.{name}`. */
const claimNames = new Set([
  ...[
    'sub',
    'name',
    'given_name',
    'family_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
  ],
  ...['website', 'email', 'email_verified', 'gender', 'birthdate', 'zoneinfo', 'locale', 'phone_number'],
  ...['phone_number_verified', 'address', 'updated_at'],
])

const describeScope = (
  translator: Translator,
  scope: string,
  { title, description }: Partial<ScopeTexts> = {},
): Wish => {
  const text = translator.own(title) ?? (scopeNames.has(scope) ? translator.text(`scope.${scope}`) : undefined)
  const about = translator.own(description)
  return {
    ...(text === undefined ? { text: translator.text('wish.scope'), raw: scope } : { text }),
    ...(about !== undefined && { description: about }),
  }
}

const describeClaim = (translator: Translator, claim: string): Wish =>
  claimNames.has(claim)
    ? { text: translator.text(`claim.${claim}`) }
    : { text: translator.text('wish.claim'), raw: claim }

export type DescribePermissions = ReturnType<typeof createDescribePermissions>

/**
 * Describes the permissions that the consent page lists: scopes in the words of the configuration or in plain words,
 * and other names unchanged.
 */
export const createDescribePermissions = (translator: Translator, texts: readonly ScopeTexts[]) => {
  const byName = new Map(texts.map((scope) => [scope.name, scope]))
  return (scopes: readonly string[], claims: readonly string[], resources: readonly string[]): readonly Wish[] => [
    ...scopes.map((scope) => describeScope(translator, scope, byName.get(scope))),
    ...claims.map((claim) => describeClaim(translator, claim)),
    ...resources.map((resource): Wish => ({ text: translator.text('wish.resource'), raw: resource })),
  ]
}
