import type { Path } from '../format-path.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyPurpose } from '../keys/ports.js'
import { cibaGrant } from '../oauth/ciba/request.js'
import { deviceCodeGrant } from '../oauth/grants/device-code.js'
import { enabledGrants } from './enabled-grants.js'
import { meant, type Rule } from './rule.js'

const keysAndSigners: Rule = ({ config, report, warn, isValid }) => {
  const { keys = [], signers = {} } = config
  const names = Object.keys(signers)
  for (const [index, key] of keys.entries())
    if (key?.signer !== undefined && !names.includes(key.signer))
      report(['keys', index, 'signer'], `there is no signer with this name${meant(key.signer, names)}`)
  if (!isValid('keys')) return
  for (const name of names)
    if (!keys.some((key) => key?.signer === name)) warn(['signers', name], 'this signer has no key')
}

/** In these grants a person signs in, and the client may get an ID token. */
const personGrants: readonly string[] = ['authorization_code', deviceCodeGrant, cibaGrant]

/** Only algorithms for which keys exist can be promised to clients. */
const keysForAlgorithms: Rule = ({ config, clients, report, isValid }) => {
  if (!isValid('keys')) return
  const need = (alg: JwsAlg | undefined, purpose: KeyPurpose, path: Path): void => {
    if (alg === undefined || config.keys?.some((key) => key?.alg === alg && key.purposes?.includes(purpose))) return
    report(path, `there is no key for ${alg} with the purpose ${purpose}`)
  }
  const hasScopes = (config.scopes_supported?.length ?? 1) > 0
  if (hasScopes && isValid('access_token_signing_alg', 'id_token_signing_alg'))
    need(config.access_token_signing_alg, 'access_token', ['access_token_signing_alg'])
  if (isValid('id_token_signing_alg') && config.scopes_supported?.includes('openid'))
    need(config.id_token_signing_alg, 'id_token', ['id_token_signing_alg'])
  need(config.attestation?.signing_alg, 'attestation', ['attestation', 'signing_alg'])
  if (config.attestation?.status_list !== undefined)
    need(config.attestation.signing_alg, 'status_list', ['attestation', 'status_list'])
  for (const [index, client] of clients.entries()) {
    need(client?.id_token_signed_response_alg, 'id_token', ['clients', index, 'id_token_signed_response_alg'])
    need(client?.userinfo_signed_response_alg, 'userinfo', ['clients', index, 'userinfo_signed_response_alg'])
    need(client?.introspection_signed_response_alg, 'introspection', [
      'clients',
      index,
      'introspection_signed_response_alg',
    ])
    need(client?.authorization_signed_response_alg, 'jarm', ['clients', index, 'authorization_signed_response_alg'])
    if (client?.backchannel_logout_uri !== undefined && isValid('id_token_signing_alg'))
      need(client.id_token_signed_response_alg ?? config.id_token_signing_alg, 'logout_token', [
        'clients',
        index,
        'backchannel_logout_uri',
      ])
  }
}

type SalvagedEntry = NonNullable<Parameters<Rule>[0]['config']['keys']>[number]

const nameOfEntry = (entry: SalvagedEntry): string | undefined => {
  if (entry === undefined) return undefined
  if ('slot' in entry) return entry.slot && `slot ${entry.slot}`
  return 'kid' in entry && entry.kid !== undefined ? `key ${entry.kid}` : undefined
}

/** Otherwise the first sign-in would report it as an outage. */
const keysForSignedRequests: Rule = ({ config, registries, report, isValid }) => {
  if (!isValid('keys', 'plugins')) return
  for (const { plugin, path, purpose, alg } of registries.signedRequests) {
    if (config.keys?.some((key) => key?.purposes?.includes(purpose) && (alg === undefined || key.alg === alg))) continue
    const near = config.keys?.find((key) => alg === undefined || key?.alg === alg)
    const name = nameOfEntry(near)
    const hint =
      name === undefined
        ? 'add one to `keys`'
        : `write \`purposes: [${[...(near?.purposes ?? []), purpose].join(', ')}]\` for the ${name}`
    report(path, `${plugin} needs a key${alg === undefined ? '' : ` for ${alg}`} with the purpose ${purpose}: ${hint}`)
  }
}

/**
 * A client that registered no algorithm expects RS256 (OIDC Core §15.1), and many libraries accept nothing else until
 * they are configured.
 */
const keyForAnyClient: Rule = ({ config, registries, warn, isValid }) => {
  if (!isValid('keys', 'plugins', 'scopes_supported', 'grant_types_supported', 'security_profile')) return
  // The FAPI 2.0 profile does not allow RS256.
  if (config.security_profile === 'fapi2') return
  const signsIn = enabledGrants(config, registries.grants.keys()).some((name) => personGrants.includes(name))
  if (!signsIn || !config.scopes_supported?.includes('openid')) return
  if (config.keys?.some((key) => key?.alg === 'RS256' && key.purposes?.includes('id_token'))) return
  warn(['keys'], 'no key signs ID tokens with RS256, which many clients expect (OpenID Connect Core §15.1)')
}

/** Verifiers of the log know Ed25519 alone (https://c2sp.org/signed-note). */
const keyForKeyLog: Rule = ({ config, report, isValid }) => {
  if (config.key_log !== true || !isValid('keys', 'issuer')) return
  if (!config.keys?.some((key) => key?.alg === 'EdDSA' && key.purposes?.includes('audit')))
    report(['key_log'], 'needs a key with `alg: EdDSA` and `purposes: [audit]` that signs the log: add one to `keys`')
  if (config.issuer?.includes('+'))
    report(['key_log'], 'cannot name a log of this issuer: the name of a log has no plus sign')
}

export const keyRules: readonly Rule[] = [
  keysAndSigners,
  keysForAlgorithms,
  keysForSignedRequests,
  keyForKeyLog,
  keyForAnyClient,
]
