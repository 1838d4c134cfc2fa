import type { Path } from '../format-path.js'
import { findJwkFault } from '../jose/public-key-guard.js'
import { isFapi, methodsOf } from '../oauth/clients/security-profile.js'
import { findOutboundFault } from '../outbound/outbound-fetch.js'
import { enabledGrants } from './enabled-grants.js'
import { meant, type Deployment, type Rule } from './rule.js'

type Policy = NonNullable<NonNullable<Deployment['config']['registration']>['policy']>

const policiesOf = ({ config: { registration } }: Deployment): readonly (readonly [Path, Policy])[] => {
  const named = Object.entries(registration?.policies ?? {}).map(
    ([name, policy]) => [['registration', 'policies', name], policy] as const,
  )
  const all: readonly (readonly [Path, Policy | undefined])[] = [
    [['registration', 'policy'], registration?.policy],
    ...named,
  ]
  return all.flatMap(([path, policy]) => (policy === undefined ? [] : [[path, policy] as const]))
}

/** Reports each name that is not among the existing ones. */
const reportOthers = (
  { report }: Deployment,
  path: Path,
  names: readonly (string | undefined)[] | undefined,
  known: readonly string[],
  message: string,
): void => {
  for (const [index, name] of (names ?? []).entries())
    if (name !== undefined && !known.includes(name)) report([...path, index], `${message}${meant(name, known)}`)
}

const known = (words: readonly (string | undefined)[]): string[] => words.filter((word) => word !== undefined)

/** A policy must not promise what no client could have. */
const policiesAreWithinDeployment: Rule = (deployment) => {
  const { config, registries, report, isValid } = deployment
  const { scopes_supported: scopes = [], authorization_details_types: types = [], security_profile: own } = config
  const methods = [...registries.clientAuthenticators.keys()]
  const details = [...known(types.map((one) => one?.type)), ...registries.authorizationDetails.keys()]
  for (const [path, policy] of policiesOf(deployment)) {
    if (isValid('plugins', 'grant_types_supported', 'token_exchange_enabled')) {
      const grants = enabledGrants(config, registries.grants.keys())
      reportOthers(
        deployment,
        [...path, 'grant_types'],
        policy.grant_types,
        grants,
        'is not a grant of this deployment',
      )
    }
    const profile = policy.security_profile ?? own ?? 'oauth2'
    if (isValid('plugins'))
      reportOthers(
        deployment,
        [...path, 'token_endpoint_auth_methods'],
        policy.token_endpoint_auth_methods,
        methodsOf(profile, methods),
        profile === 'fapi2' ? 'is not a method for fapi2' : 'no plugin provides this method',
      )
    if (isValid('scopes_supported'))
      reportOthers(deployment, [...path, 'scopes'], policy.scopes, known(scopes), 'is not in scopes_supported')
    if (isValid('authorization_details_types', 'plugins'))
      reportOthers(
        deployment,
        [...path, 'authorization_details_types'],
        policy.authorization_details_types,
        details,
        'is not in authorization_details_types',
      )
    if (own === 'fapi2' && policy.security_profile === 'oauth2')
      report([...path, 'security_profile'], 'must be fapi2, as the configuration is')
    if (policy.require_software_statement === true && config.registration?.software_statements?.length === 0)
      report([...path, 'require_software_statement'], 'needs an issuer in registration.software_statements')
  }
}

const registrationIsOfGrants: Rule = ({ config: { registration }, registries, report, warn, isValid }) => {
  if (registration?.mode === undefined) return
  if (registration.mode === 'off') {
    if (Object.keys(registration.policies ?? {}).length > 0 || (registration.software_statements?.length ?? 0) > 0)
      warn(['registration', 'mode'], 'is off, so the rest of the section has no effect')
    return
  }
  if (isValid('plugins') && registries.grants.size === 0)
    report(['registration', 'mode'], 'no plugin provides a grant, so there is nothing to register for')
  const isMachines = registration.policy?.grant_types?.includes('client_credentials')
  if (registration.mode === 'open' && isMachines === true)
    warn(
      ['registration', 'policy', 'grant_types'],
      'with mode open anybody gets tokens by client_credentials, without a person; use a named policy and initial access tokens',
    )
}

const statementIssuers: Rule = ({ config: { registration }, report }) => {
  const seen = new Set<string>()
  for (const [index, one] of (registration?.software_statements ?? []).entries()) {
    const path: Path = ['registration', 'software_statements', index]
    const { issuer, jwks, jwks_uri: uri } = one ?? {}
    if (issuer !== undefined && seen.has(issuer)) report([...path, 'issuer'], 'is named before')
    if (issuer !== undefined) seen.add(issuer)
    const fault = uri === undefined ? undefined : findOutboundFault(uri)
    if (fault !== undefined) report([...path, 'jwks_uri'], fault)
    for (const [position, jwk] of (jwks?.keys ?? []).entries()) {
      const wrong = jwk === undefined ? undefined : findJwkFault(jwk)
      if (wrong !== undefined) report([...path, 'jwks', 'keys', position], wrong)
    }
  }
}

/** Clients of the profile may all come from registration. */
export const registersFapi = (deployment: Deployment): boolean =>
  deployment.config.registration?.mode !== 'off' &&
  policiesOf(deployment).some(
    ([, { security_profile }]) => security_profile !== undefined && isFapi({ security_profile }),
  )

export const registrationRules: readonly Rule[] = [
  registrationIsOfGrants,
  policiesAreWithinDeployment,
  statementIssuers,
]
