import { fapiAlgorithms, isFapi } from '../oauth/clients/security-profile.js'
import { registersFapi } from './registration-rules.js'
import type { Rule } from './rule.js'

const clause = (name: string): string => `(FAPI 2.0 Security Profile §${name})`

/** Checks what a client of the profile needs from the deployment. */
const deployment: Rule = ({ config, clients, report, isValid }) => {
  const { id_token_signing_alg: idTokenAlg, access_token_signing_alg: accessTokenAlg = idTokenAlg } = config
  for (const [index, client] of clients.entries()) {
    if (client === undefined) continue
    const path = ['clients', index, 'security_profile']
    if (!isFapi(client)) {
      if (config.security_profile === 'fapi2' && isValid('security_profile'))
        report(path, 'must be fapi2, as the configuration is')
      continue
    }
    const signed = [['access_token_signing_alg', accessTokenAlg] as const]
    if (client.id_token_signed_response_alg === undefined) signed.push(['id_token_signing_alg', idTokenAlg] as never)
    for (const [name, alg] of signed)
      if (alg !== undefined && isValid(name) && !fapiAlgorithms.includes(alg))
        report(path, `needs ${name} ${fapiAlgorithms.join(' or ')} ${clause('5.4.1')}`)
    const { clock_tolerance_secs: tolerance, par_ttl_secs: lifetime } = config
    if (lifetime !== undefined && isValid('par_ttl_secs') && lifetime >= 600)
      report(path, `needs par_ttl_secs below 600 ${clause('5.3.2.2')}`)
    if (tolerance !== undefined && isValid('clock_tolerance_secs') && (tolerance < 10 || tolerance > 60))
      report(path, `needs clock_tolerance_secs of 10 to 60 ${clause('5.3.2.1')}`)
  }
}

const signing: Rule = (deployment) => {
  const { config, clients, report, isValid } = deployment
  if (!isValid('fapi2_message_signing', 'security_profile', 'clients')) return
  if ((config.fapi2_message_signing?.length ?? 0) === 0 || config.security_profile === 'fapi2') return
  if (!clients.some((client) => client !== undefined && isFapi(client)) && !registersFapi(deployment))
    report(['fapi2_message_signing'], 'is for clients with security_profile fapi2: there is none')
}

export const profileRules: readonly Rule[] = [deployment, signing]
