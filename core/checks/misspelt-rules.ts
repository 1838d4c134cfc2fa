import type { Path } from '../format-path.js'
import { cibaGrant } from '../oauth/ciba/request.js'
import { deviceCodeGrant } from '../oauth/grants/device-code.js'
import { tokenExchange } from './enabled-grants.js'
import { meant, type Rule } from './rule.js'

const grants = [
  'authorization_code',
  'client_credentials',
  'refresh_token',
  deviceCodeGrant,
  cibaGrant,
  tokenExchange,
] as const
const methods = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'tls_client_auth',
  'self_signed_tls_client_auth',
  'attest_jwt_client_auth',
] as const

/**
 * While a plugin cannot be loaded, it is unknown what it would provide, so the other rules do not check grants and
 * methods. A misspelling of a known name is wrong in any case.
 */
export const misspeltNames: Rule = ({ config, clients, registries, report, isValid }) => {
  if (isValid('plugins')) return
  const check = (path: Path, name: string | undefined, words: readonly string[]): void => {
    const hint = name === undefined || words.includes(name) ? '' : meant(name, words)
    if (hint !== '') report(path, `is not known${hint}`)
  }
  const knownGrants = [...grants, ...registries.grants.keys()]
  const knownMethods = [...methods, ...registries.clientAuthenticators.keys()]
  for (const [index, name] of (config.grant_types_supported ?? []).entries())
    check(['grant_types_supported', index], name, knownGrants)
  for (const [index, client] of clients.entries()) {
    for (const [position, name] of (client?.grant_types ?? []).entries())
      check(['clients', index, 'grant_types', position], name, knownGrants)
    check(
      ['clients', index, 'token_endpoint_auth_method'],
      client?.token_endpoint_auth_method ?? undefined,
      knownMethods,
    )
  }
}
