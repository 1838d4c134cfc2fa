import { findCertificatesFault } from '../certificates/certificate-chains.js'
import type { Salvaged } from '../../config/explain.js'
import { formatPath, type Path } from '../format-path.js'
import type { Problem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import { directKinds } from '../attestation/second-factor.js'
import { findPasswordAdvice, findPasswordFault } from '../interaction/password-strength.js'
import { authenticationMethods, type Client } from '../oauth/clients/client.js'
import { cibaGrant } from '../oauth/ciba/request.js'
import { deviceCodeGrant } from '../oauth/grants/device-code.js'
import { adminRules } from './admin-rules.js'
import { clientRules } from './client-rules.js'
import { claimsAreForResources, claimsAreOfPeople, claimsReachSomebody } from './claim-rules.js'
import { enabledGrants, tokenExchange } from './enabled-grants.js'
import { trustedProxies } from './trusted-proxies.js'
import { keyRules } from './key-rules.js'
import { slotRules } from './slot-rules.js'
import { authenticationContextRules } from './authentication-context-rules.js'
import { signInRules } from './sign-in-rules.js'
import { firstMethods } from '../interaction/method-choice.js'
import { authorizationDetailsRules } from './authorization-details-rules.js'
import { themesNameClients } from './read-theme.js'
import { profileRules } from './profile-rules.js'
import { registrationRules } from './registration-rules.js'
import { misspeltNames } from './misspelt-rules.js'
import { mtlsRules } from './mtls-rules.js'
import { meant, type CheckedRegistries, type Deployment, type Rule } from './rule.js'

export interface CrossCheck {
  readonly problems: readonly Problem[]
  /** Settings that are allowed but probably not intended. */
  readonly warnings: readonly Problem[]
}

/** Reports each item that has the same identity as an earlier one. */
const reportRepeated = (
  { report }: Deployment,
  values: readonly (string | undefined)[],
  place: (index: number) => Path,
): void => {
  const first = new Map<string, number>()
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue
    const earlier = first.get(value)
    if (earlier === undefined) first.set(value, index)
    else report(place(index), `is the same as ${formatPath(place(earlier))}`)
  }
}

const uniqueIds: Rule = (deployment) => {
  const { keys = [], accounts = [], resources = [], scopes = [] } = deployment.config
  reportRepeated(
    deployment,
    scopes.map((scope) => scope?.name),
    (index) => ['scopes_supported', index],
  )
  reportRepeated(
    deployment,
    keys.map((key) => key && ('kid' in key ? key.kid : undefined)),
    (index) => ['keys', index, 'kid'],
  )
  reportRepeated(
    deployment,
    keys.map((key) => key && ('slot' in key ? key.slot : undefined)),
    (index) => ['keys', index, 'slot'],
  )
  reportRepeated(
    deployment,
    deployment.clients.map((client) => client?.client_id),
    (index) => ['clients', index, 'client_id'],
  )
  reportRepeated(
    deployment,
    accounts.map((account) => account?.username),
    (index) => ['accounts', index, 'username'],
  )
  reportRepeated(
    deployment,
    accounts.map((account) => account?.sub),
    (index) => ['accounts', index, 'sub'],
  )
  reportRepeated(
    deployment,
    resources.map((resource) => resource?.identifier),
    (index) => ['resources', index, 'identifier'],
  )
}

/** A reader of `sub` alone must not take a service for a person (RFC 9700 §4.15). */
const clientIdsAreNotSubjects: Rule = ({ config: { accounts = [] }, clients, report }) => {
  for (const [index, client] of clients.entries()) {
    const account = accounts.findIndex((one) => client !== undefined && one?.sub === client.client_id)
    if (account !== -1)
      report(['clients', index, 'client_id'], `is the subject of a person: ${formatPath(['accounts', account, 'sub'])}`)
  }
}

const grantsHavePlugins: Rule = ({ config, clients, registries, report, warn, isValid }) => {
  if (!isValid('plugins')) return
  const provided = [...registries.grants.keys()]
  if (provided.length === 0 && config.attestation === undefined) report(['plugins'], 'no plugin provides a grant')
  if (provided.length > 0 && isValid('scopes_supported') && config.scopes_supported?.length === 0)
    report(['scopes_supported'], 'must name at least one scope')
  for (const [index, name] of (config.grant_types_supported ?? []).entries())
    if (name !== undefined && !provided.includes(name))
      report(['grant_types_supported', index], `no plugin provides this grant${meant(name, provided)}`)
  if (config.token_exchange_enabled === true && !provided.includes(tokenExchange))
    report(['token_exchange_enabled'], 'no plugin provides token exchange')
  if (config.token_exchange_enabled === false && provided.includes(tokenExchange))
    warn(['token_exchange_enabled'], 'token exchange is loaded but not enabled')

  const signsIn = firstMethods(registries.signIn).length > 0 && registries.accounts !== undefined
  const enabled = enabledGrants(config, provided)
  for (const [index, client] of clients.entries())
    for (const [position, name] of (client?.grant_types ?? []).entries()) {
      const path: Path = ['clients', index, 'grant_types', position]
      if (!provided.includes(name)) report(path, `no plugin provides this grant${meant(name, provided)}`)
      else if (isValid('grant_types_supported', 'token_exchange_enabled') && !enabled.includes(name))
        report(
          path,
          config.grant_types_supported?.includes(name) === false
            ? 'this grant is not in grant_types_supported'
            : 'this grant needs token_exchange_enabled',
        )
    }
  if (enabled.includes('authorization_code') && !signsIn)
    report(['plugins'], 'the grant authorization_code needs a login plugin')
  if (enabled.includes(deviceCodeGrant) && !signsIn) report(['plugins'], 'the device_code grant needs a login plugin')
  if (enabled.includes(cibaGrant)) {
    if (!signsIn) report(['plugins'], 'the CIBA grant needs a login plugin')
    if (isValid('attestation')) {
      if (config.attestation === undefined)
        report(['plugins'], 'the CIBA grant needs the section attestation: an enrolled device approves')
      else if (registries.statusProvider === undefined)
        warn(['plugins'], 'without a status provider, such as plugins/attestation/registry, no device can be revoked')
    }
  }
  if ((config.accounts?.length ?? 0) > 0 && !signsIn) report(['accounts'], 'no login plugin is configured')
  if (!enabled.includes('refresh_token') || !isValid('scopes_supported')) return
  const { scopes_supported: scopes, refresh_token_without_openid: withoutOpenid } = config
  if (!scopes?.includes('offline_access') && (withoutOpenid === false || scopes?.includes('openid') === true))
    warn(['scopes_supported'], 'without offline_access no refresh token is issued for requests with openid')
}

const clientMethods: Rule = ({ clients, registries, report, isValid }) => {
  if (!isValid('plugins')) return
  const provided = [...registries.clientAuthenticators.keys()]
  for (const [index, client] of clients.entries()) {
    if (client === undefined) continue
    const methods = authenticationMethods(client)
    if (!methods.some((method) => provided.includes(method)))
      report(
        ['clients', index, 'token_endpoint_auth_method'],
        client.token_endpoint_auth_method === undefined
          ? `is not named, and no plugin provides ${methods.join(' or ')}`
          : `no plugin provides this method${meant(client.token_endpoint_auth_method, provided)}`,
      )
  }
}

const withinSupported: Rule = ({ config, clients, report, isValid }) => {
  const { scopes_supported: scopes = [], response_types_supported: responseTypes = [] } = config
  for (const [index, client] of clients.entries()) {
    if (isValid('response_types_supported'))
      for (const [position, name] of (client?.response_types ?? []).entries())
        if (!responseTypes.some((supported) => supported === name))
          report(['clients', index, 'response_types', position], 'is not in response_types_supported')
    if (!isValid('scopes_supported')) continue
    for (const name of client?.scope ?? [])
      if (!scopes.includes(name))
        report(['clients', index, 'scope'], `${name} is not in scopes_supported${meant(name, known(scopes))}`)
  }
  if (!isValid('scopes_supported')) return
  for (const [index, resource] of (config.resources ?? []).entries())
    for (const name of resource?.scope ?? [])
      if (name !== undefined && !scopes.includes(name))
        report(['resources', index, 'scope'], `${name} is not in scopes_supported${meant(name, known(scopes))}`)
}

const known = (words: readonly (string | undefined)[]): string[] => words.filter((word) => word !== undefined)

/** Enrolment needs a second factor, and without the section none is requested. */
const attestation: Rule = ({ config, registries, report, warn, isValid }) => {
  if (!isValid('plugins', 'attestation')) return
  const { secondFactors, statusProvider, evidence } = registries
  const kinds = [...secondFactors.keys()]
  for (const { kind, parts = [] } of secondFactors.values())
    for (const part of parts)
      if (!kinds.includes(part))
        report(['plugins'], `the second factor ${kind} asks for ${part}, which no plugin provides${meant(part, kinds)}`)
  if (config.attestation !== undefined) {
    if (directKinds(secondFactors).length === 0) report(['attestation'], 'no plugin provides a second factor')
    if ((config.attestation.require_evidence ?? []).length > 0 && evidence.size === 0)
      report(['attestation', 'require_evidence'], 'no plugin verifies evidence')
    for (const [index, text] of (config.attestation.client_attestation_certificates ?? []).entries()) {
      const fault = text === undefined ? undefined : findCertificatesFault(text)
      if (fault !== undefined) report(['attestation', 'client_attestation_certificates', index], fault)
    }
    if (
      config.attestation.signing_alg === 'EdDSA' &&
      config.attestation.workload_identity?.identifier?.startsWith('spiffe:')
    )
      warn(['attestation', 'workload_identity'], 'SPIFFE has no EdDSA: choose another signing_alg')
    return
  }
  if (kinds.length > 0 || statusProvider !== undefined || evidence.size > 0)
    warn(['plugins'], 'a plugin is for attestation, but there is no section attestation')
  for (const { grantType, takesAttestations } of registries.grants.values())
    if (takesAttestations) warn(['plugins'], `${grantType} takes attestations, but there is no section attestation`)
}

const lifetimes: Rule = ({ config, report }) => {
  const { refresh_token_idle_ttl_secs: idle, refresh_token_absolute_ttl_secs: absolute } = config
  if (idle !== undefined && absolute !== undefined && idle > absolute)
    report(['refresh_token_idle_ttl_secs'], 'must be at most refresh_token_absolute_ttl_secs')
}

const passwords: Rule = ({ config: { accounts = [] }, report, warn }) => {
  for (const [index, account] of accounts.entries()) {
    const password = account?.password?.reveal()
    if (password === undefined) continue
    const path: Path = ['accounts', index, 'password']
    const fault = findPasswordFault(password, account?.username ?? '')
    const advice = findPasswordAdvice(password)
    if (fault !== undefined) report(path, fault.text)
    else if (advice !== undefined) warn(path, advice)
  }
}

/** Parts of a line of one process would be mixed with those of another. */
const ownOutput: Rule = ({ config: { audit, workers }, report }) => {
  if (audit === 'stdout' && workers !== undefined && workers !== 1)
    report(
      ['workers'],
      'must be 1 with `audit: stdout`, which only one process can print: log to a file, or run replicas',
    )
}

const rules: readonly Rule[] = [
  uniqueIds,
  clientIdsAreNotSubjects,
  ...keyRules,
  ...slotRules,
  grantsHavePlugins,
  clientMethods,
  misspeltNames,
  claimsAreOfPeople,
  claimsReachSomebody,
  claimsAreForResources,
  withinSupported,
  attestation,
  lifetimes,
  passwords,
  trustedProxies,
  ...mtlsRules,
  ...adminRules,
  ...authorizationDetailsRules,
  ...authenticationContextRules,
  ...signInRules,
  ...profileRules,
  themesNameClients,
  ...clientRules,
  ...registrationRules,
  ownOutput,
]

/**
 * Checks the sections of a configuration against each other, in both directions. `clients` are those of
 * `config.clients`, index by index. `faulty` names the sections that already have a problem. It is a pure function
 * and does not throw.
 */
export const crossCheck = (
  config: Salvaged<Config>,
  clients: readonly (Client | undefined)[],
  registries: CheckedRegistries,
  faulty: ReadonlySet<string> = new Set(),
): CrossCheck => {
  const problems: Problem[] = []
  const warnings: Problem[] = []
  const deployment: Deployment = {
    config,
    clients,
    registries,
    report: (path, message) =>
      void problems.push({ path: typeof path === 'string' ? path : formatPath(path), message }),
    warn: (path, message) => void warnings.push({ path: formatPath(path), message }),
    isValid: (...sections) => sections.every((section) => !faulty.has(section)),
  }
  for (const rule of rules) rule(deployment)
  return { problems, warnings }
}
