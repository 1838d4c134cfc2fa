import type { Client } from '../clients/client.js'
import { OAuthError } from '../errors.js'

/** `scope-token *( SP scope-token )` (RFC 6749 §3.3). */
const form = /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/

/** The scopes that are about a person, and not about an API (OIDC Core §3.1.2.1, §5.4, §11). */
export const personalScopes: ReadonlySet<string> = new Set([
  'openid',
  'profile',
  'email',
  'address',
  'phone',
  'offline_access',
])

/** What is granted, as far as it says how long. */
interface Lasting {
  readonly scope: readonly string[]
  /** Good for the time after the session without the scope `offline_access`, which is OpenID's (RFC 6749 §1.5). */
  readonly offline?: true
}

/** Is it good for the time after the session, with a refresh token (OIDC Core §11)? */
export const isOffline = ({ scope, offline }: Lasting): boolean => offline === true || scope.includes('offline_access')

/** What a person is asked for, in scopes: `offline_access` stands for what is offline without it. */
export const scopeToAllow = ({ scope, offline }: Lasting): readonly string[] =>
  offline === true ? [...scope, 'offline_access'] : scope

/** The member of an audit event for scopes that were asked for and that nobody knows; 200 characters at most. */
export const auditIgnored = (ignored: readonly string[] = []): { readonly ignored_scope?: string } =>
  ignored.length === 0 ? {} : { ignored_scope: ignored.join(' ').slice(0, 200) }

/** The `scope` parameter as a list without repetitions; empty when none was sent. Throws `invalid_scope` when it is malformed. */
export const parseScope = (scope: string | undefined): readonly string[] => {
  if (scope === undefined) return []
  if (!form.test(scope)) throw new OAuthError('invalid_scope', 'The scope is malformed.')
  return [...new Set(scope.split(' '))]
}

/** As `parseScope`. Throws `invalid_scope` also when it asks for what the client has not registered. */
export const checkScope = (scope: string | undefined, client: Client): readonly string[] => {
  const names = parseScope(scope)
  if (!names.every((name) => client.scope.includes(name))) throw scopeRefused()
  return names
}

export const scopeRefused = (): OAuthError =>
  new OAuthError('invalid_scope', 'The scope is unknown or not allowed to this client.')
