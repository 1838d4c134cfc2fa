import type { Client } from '../oauth/clients/client.js'
import { OAuthError } from '../oauth/errors.js'

export interface Resource {
  readonly identifier: string
  /** The scopes that this resource server knows. By default it accepts any. */
  readonly scope?: readonly string[] | undefined
  readonly access_token_ttl_secs?: number | undefined
}

/**
 * The audience is the default one, or a resource server for which the client may request tokens (RFC 8707 §2). Throws
 * `invalid_target`.
 */
export const checkAudience = (audience: readonly string[], client: Client, defaultAudience: string): void => {
  const allowed = (name: string): boolean => name === defaultAudience || client.allowed_audiences.includes(name)
  if (!audience.every(allowed))
    throw new OAuthError('invalid_target', 'The resource is not allowed to this client.', {
      reason: 'audience refused',
    })
}

/**
 * Returns the part of the scope that the client may have and that the resource servers know. Throws `invalid_scope`.
 */
export const narrowScope = (
  scope: readonly string[],
  client: Client,
  audience: readonly string[],
  resources: ReadonlyMap<string, Resource>,
): readonly string[] => {
  if (!scope.every((name) => client.scope.includes(name)))
    throw new OAuthError('invalid_scope', 'The scope is not allowed to this client.')
  const lists = audience.flatMap((name) => resources.get(name)?.scope ?? [])
  const limited = audience.every((name) => resources.get(name)?.scope !== undefined)
  if (!limited) return scope
  const left = scope.filter((name) => lists.includes(name) || name === 'openid' || name === 'offline_access')
  // An answer without `scope` would mean that everything requested is granted (RFC 6749 §5.1).
  if (left.length === 0 && scope.length > 0 && lists.length > 0)
    throw new OAuthError('invalid_scope', 'The resource accepts none of the scopes.')
  return left
}
