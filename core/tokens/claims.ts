import type { JsonObject, JsonValue } from '../json.js'
import { filterClaims } from '../oauth/claims-parameter.js'
import type { Client } from '../oauth/client.js'
import type { RequestedClaims } from '../oauth/grant.js'

/** The claims that a scope stands for (OIDC Core §5.4). */
const scopeClaims: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'profile',
    [
      'name',
      'family_name',
      'given_name',
      'middle_name',
      'nickname',
      'preferred_username',
      'profile',
      'picture',
      'website',
      'gender',
      'birthdate',
      'zoneinfo',
      'locale',
      'updated_at',
    ],
  ],
  ['email', ['email', 'email_verified']],
  ['address', ['address']],
  ['phone', ['phone_number', 'phone_number_verified']],
])

/** The standard claims of a person, with the scope that stands for each (OIDC Core §5.1, §5.4). */
const scopeOfClaim: ReadonlyMap<string, string> = new Map(
  [...scopeClaims].flatMap(([scope, names]) => names.map((name) => [name, scope])),
)
export const standardClaims: readonly string[] = [...scopeOfClaim.keys()]

/** Stands for the claims that no scope of OIDC Core stands for. */
const scopeOfOthers = 'profile'

/**
 * What the `claims` parameter may release to a client: a standard claim, in any language (`name#de`, OIDC Core §5.2), when the
 * client registered the scope that stands for it, and of other claims those of `supported`, with `profile`. What is left out is
 * ignored as what nobody understands (OIDC Core §5.5).
 */
export const releasableClaims = (
  requested: RequestedClaims,
  client: Pick<Client, 'scope'>,
  supported: readonly string[],
): RequestedClaims =>
  filterClaims(requested, (name) => {
    const [standard = ''] = name.split('#')
    const scope = scopeOfClaim.get(standard) ?? (supported.includes(name) ? scopeOfOthers : undefined)
    return scope !== undefined && client.scope.includes(scope)
  })

/** Every standard claim that some scope of `scopes` stands for. */
export const claimsOfScopes = (scopes: readonly string[]): readonly string[] =>
  scopes.flatMap((scope) => scopeClaims.get(scope) ?? [])

/** The members of `claims` that are named and there. An account cannot set what is the protocol's. */
export const pickClaims = (claims: JsonObject, names: Iterable<string>): Record<string, JsonValue> => {
  const picked: Record<string, JsonValue> = {}
  for (const name of names) {
    const value = Object.hasOwn(claims, name) && !protocolClaims.has(name) ? claims[name] : undefined
    if (value !== undefined && value !== null) picked[name] = value
  }
  return picked
}

/** Names that only the core sets, in any token (RFC 7519 §4.1, RFC 9068 §2.2, OIDC Core §2, RFC 7800, RFC 8693 §4). */
export const protocolClaims: ReadonlySet<string> = new Set(
  [
    'iss sub aud exp nbf iat jti client_id scope cnf auth_time acr amr nonce sid azp at_hash c_hash s_hash act may_act',
    'typ userinfo_claims events __proto__ constructor prototype',
  ].flatMap((names) => names.split(' ')),
)

/** The names asked for in one member of the `claims` parameter (OIDC Core §5.5). */
export const requestedNames = (
  requested: RequestedClaims | undefined,
  member: keyof RequestedClaims,
): readonly string[] => Object.keys(requested?.[member] ?? {})
