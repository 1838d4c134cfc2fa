import type { Client } from '../clients/client.js'
import { OAuthError } from '../errors.js'

/** The form is `scope-token *( SP scope-token )` (RFC 6749 §3.3). */
const form = /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/

/** The scopes that concern a person and not an API (OIDC Core §3.1.2.1, §5.4, §11). */
export const personalScopes: ReadonlySet<string> = new Set([
  'openid',
  'profile',
  'email',
  'address',
  'phone',
  'offline_access',
])

/** The members of a grant that tell how long it lasts. */
interface Lasting {
  readonly scope: readonly string[]
  /**
   * The grant is valid after the session without the scope `offline_access`, which belongs to OpenID (RFC 6749 §1.5).
   */
  readonly offline?: true
}

/** Tells whether a grant is valid after the session, with a refresh token (OIDC Core §11). */
export const isOffline = ({ scope, offline }: Lasting): boolean => offline === true || scope.includes('offline_access')

/**
 * Returns the scopes that a person is asked to allow. `offline_access` stands for an offline grant without that
 * scope.
 */
export const scopeToAllow = ({ scope, offline }: Lasting): readonly string[] =>
  offline === true ? [...scope, 'offline_access'] : scope

/** Returns the member of an audit event for requested scopes that are unknown, at most 200 characters. */
export const auditIgnored = (ignored: readonly string[] = []): { readonly ignored_scope?: string } =>
  ignored.length === 0 ? {} : { ignored_scope: ignored.join(' ').slice(0, 200) }

/**
 * Returns the `scope` parameter as a list without repetitions; empty when none was sent. Throws `invalid_scope` when
 * it is malformed.
 */
export const parseScope = (scope: string | undefined): readonly string[] => {
  if (scope === undefined) return []
  if (!form.test(scope)) throw new OAuthError('invalid_scope', 'The scope is malformed.')
  return [...new Set(scope.split(' '))]
}

/** Parses like `parseScope`, and also throws `invalid_scope` for a scope that the client has not registered. */
export const checkScope = (scope: string | undefined, client: Client): readonly string[] => {
  const names = parseScope(scope)
  if (!names.every((name) => client.scope.includes(name))) throw scopeRefused()
  return names
}

export const scopeRefused = (): OAuthError =>
  new OAuthError('invalid_scope', 'The scope is unknown or not allowed to this client.')
