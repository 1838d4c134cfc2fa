import type { Path } from '../format-path.js'
import type { Config } from '../../config/schema.js'
import type { JsonObject } from '../json.js'
import { shownClaims } from '../oauth/subjects/account.js'
import { createClaimReleases } from '../tokens/claim-releases.js'
import { findClaimFault, reservedClaims } from '../tokens/claims.js'
import type { Rule } from './rule.js'

/** Only the core sets the claims that describe the token itself. */
export const claimsAreOfPeople: Rule = ({ config, report }) => {
  const check = (name: string | undefined, path: Path): void => {
    if (name !== undefined && reservedClaims.has(name)) report(path, 'is a claim that only Signet sets')
  }
  for (const [index, scope] of (config.scopes ?? []).entries())
    for (const [position, name] of (scope?.claims ?? []).entries())
      check(name, ['scopes_supported', index, 'claims', position])
  for (const name of Object.keys(config.claims ?? {})) check(name, ['claims', name])
}

/** Returns the names of the claims that no client gets and no page shows. */
export const findUnreleased = (config: Pick<Config, 'scopes' | 'claims'>, claims: JsonObject): readonly string[] => {
  const releases = createClaimReleases(config)
  return Object.keys(claims).filter((name) => !releases.isSource(name) && !shownClaims.includes(name))
}

/** Returns the claims that are not released because their values have the wrong type, with what is wrong. */
export const findFaultyClaims = (claims: JsonObject): readonly (readonly [name: string, fault: string])[] =>
  Object.entries(claims).flatMap(([name, value]) => {
    const fault = findClaimFault(name, value)
    return fault === undefined ? [] : [[name, fault] as const]
  })

export const unreleased = 'no scope and no rule of `claims` releases this claim'

/** A claim that is configured but reaches no one is a mistake. */
export const claimsReachSomebody: Rule = ({ config, warn, isValid }) => {
  // A section whose name is misspelt has no problem under its own name, but is missing.
  if (config.scopes === undefined || !isValid('scopes_supported', 'claims')) return
  const policy = config as Pick<Config, 'scopes' | 'claims'>
  const releases = createClaimReleases(policy)
  for (const name of Object.keys(policy.claims))
    if (!releases.isReleased(name)) warn(['claims', name], 'is released nowhere: write `in`, or name it in a scope')
  for (const [index, account] of (config.accounts ?? []).entries()) {
    const claims = (account?.claims ?? {}) as JsonObject
    for (const name of findUnreleased(policy, claims)) warn(['accounts', index, 'claims', name], unreleased)
    for (const [name, fault] of findFaultyClaims(claims)) warn(['accounts', index, 'claims', name], fault)
  }
}

/** A resource server that no client can request is probably misspelt. Clients may be in the store. */
export const claimsAreForResources: Rule = ({ config, clients, warn, isValid }) => {
  if (!isValid('claims', 'resources', 'clients', 'default_audience')) return
  const known = new Set([
    config.default_audience,
    ...(config.resources ?? []).map((resource) => resource?.identifier),
    ...clients.flatMap((client) => [client?.client_id, ...(client?.allowed_audiences ?? [])]),
  ])
  for (const [name, rule] of Object.entries(config.claims ?? {}))
    for (const [index, target] of (rule?.for ?? []).entries())
      if (target !== undefined && URL.canParse(target) && !known.has(target))
        warn(['claims', name, 'for', index], 'is no resource of this file, and no client in it has it')
}
