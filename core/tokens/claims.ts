import type { JsonObject, JsonValue } from '../json.js'
import type { Log } from '../observe/log.js'
import type { RequestedClaims } from '../oauth/grants/grant.js'

/** The claims that a scope stands for (OIDC Core §5.4). */
export const standardScopeClaims: ReadonlyMap<string, readonly string[]> = new Map([
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

/**
 * Names that only the core sets, in any token (RFC 7519 §4.1, RFC 9068 §2.2, OIDC Core §2, RFC 7800, RFC 8693 §4, RFC
 * 9396 §9). Grant plugins may not set them.
 */
export const protocolClaims: ReadonlySet<string> = new Set(
  [
    'iss sub aud exp nbf iat jti client_id scope cnf auth_time acr amr nonce sid azp at_hash c_hash s_hash act may_act',
    'authorization_details typ userinfo_claims sealed_sub events __proto__ constructor prototype',
  ].flatMap((names) => names.split(' ')),
)

/**
 * Names that no account, login plugin or rule of the configuration may set. They are the names above, and those that
 * would change how a reader of the token or of the `/introspect` answer decides (RFC 7662 §2.2, OIDC Core §5.6.2).
 */
export const reservedClaims: ReadonlySet<string> = new Set([
  ...protocolClaims,
  'active',
  'token_type',
  '_claim_names',
  '_claim_sources',
])

/** The names requested in one member of the `claims` parameter (OIDC Core §5.5). */
export const requestedNames = (
  requested: RequestedClaims | undefined,
  member: keyof RequestedClaims,
): readonly string[] => Object.keys(requested?.[member] ?? {})

/**
 * The standard claims that are neither text nor an object (OIDC Core §5.1). Many readers would take the text `false`
 * for true.
 */
const claimTypes: ReadonlyMap<string, 'number' | 'boolean'> = new Map([
  ['updated_at', 'number'],
  ['email_verified', 'boolean'],
  ['phone_number_verified', 'boolean'],
])

/** Returns what is wrong with the value of a standard claim, which is then not released, or undefined if nothing is. */
export const findClaimFault = (name: string, value: JsonValue | undefined): string | undefined => {
  const type = claimTypes.get(name)
  return type === undefined || value === undefined || typeof value === type
    ? undefined
    : `must be a ${type} (OpenID Connect Core §5.1)`
}

/**
 * Logs the claims that an external service sends in the wrong type, once for each sign-in method and claim. For
 * example, a text `"true"` as `email_verified` is not released.
 */
export const createWarnOfClaims = (log: Log) => {
  const warned = new Set<string>()
  return (method: string, claims: JsonObject): void => {
    for (const name of claimTypes.keys()) {
      const fault = findClaimFault(name, claims[name])
      if (fault === undefined || warned.has(`${method} ${name}`)) continue
      warned.add(`${method} ${name}`)
      log.warn('a claim of a sign-in method is not released', { method, claim: name, reason: fault })
    }
  }
}
