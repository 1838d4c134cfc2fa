import { approvalMethods, cibaGrant } from '../oauth/ciba/request.js'
import { enabledGrants } from './enabled-grants.js'
import { meant, type Rule } from './rule.js'

const contexts: Rule = ({ config, registries, report, isValid }) => {
  if (!isValid('acr_values_supported', 'plugins')) return
  const { acr_values_supported: configured } = config
  const onDevices = enabledGrants(config, registries.grants.keys()).includes(cibaGrant) ? approvalMethods : []
  const ofMethods = [...registries.signIn.values()].flatMap(({ amr }) => amr)
  const possible = ofMethods.length === 0 ? undefined : [...new Set([...ofMethods, ...onDevices])]
  const seen = new Set<string>()
  for (const [index, context] of (configured ?? []).entries()) {
    const { acr, methods } = context ?? {}
    if (acr !== undefined && seen.has(acr)) report(['acr_values_supported', index, 'acr'], 'stands here twice')
    if (acr !== undefined) seen.add(acr)
    for (const [place, method] of (methods ?? []).entries())
      if (method !== undefined && possible?.includes(method) === false)
        report(
          ['acr_values_supported', index, 'methods', place],
          `is the amr of no sign-in method; there are ${possible.join(', ')}: no sign-in could have this acr`,
        )
  }
}

/** A requirement that cannot be met is reported at the start instead of at each request. */
const uses: Rule = ({ config, clients, report, isValid }) => {
  if (!isValid('acr_values_supported')) return
  const known = (config.acr_values_supported ?? []).flatMap((context) => context?.acr ?? [])
  const check = (path: readonly (string | number)[], values: readonly (string | undefined)[] | undefined): void => {
    for (const [place, value] of (values ?? []).entries())
      if (value !== undefined && !known.includes(value))
        report([...path, place], `is none of acr_values_supported${meant(value, known)}`)
  }
  check(['userinfo', 'acr_values'], config.userinfo?.acr_values)
  for (const [index, client] of clients.entries())
    check(['clients', index, 'default_acr_values'], client?.default_acr_values)
}

export const authenticationContextRules: readonly Rule[] = [contexts, uses]
