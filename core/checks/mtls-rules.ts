import { findCertificatesFault } from '../certificates/certificate-chains.js'
import { hasClientCertificates } from '../../config/client-certificates.js'
import type { Rule } from './rule.js'

const methods = { byAuthority: 'tls_client_auth', selfSigned: 'self_signed_tls_client_auth' } as const

/** A certificate comes from one source, and something must vouch for it. */
const source: Rule = ({ config, report, isValid }) => {
  const { mtls, client_certificate_header: header, listen, trusted_proxies: proxies } = config
  if (!isValid('mtls', 'client_certificate_header')) return
  if (mtls?.listen !== undefined) {
    if (header !== undefined)
      report(
        ['client_certificate_header'],
        'must not be given together with mtls.listen: a certificate comes from one place',
      )
    if (isValid('listen') && mtls.listen.tls === undefined && listen?.tls === undefined)
      report(['mtls', 'listen', 'tls'], 'is required where listen has no tls')
  } else if (mtls !== undefined && header === undefined)
    report(['mtls'], 'needs mtls.listen or client_certificate_header: no certificate comes in')
  if (header !== undefined && isValid('trusted_proxies') && (proxies ?? []).length === 0)
    report(['client_certificate_header'], 'needs trusted_proxies: the header of anybody else is ignored')
  if (mtls?.verified_by_proxy === true && header === undefined)
    report(['mtls', 'verified_by_proxy'], 'needs client_certificate_header: nothing else comes from a proxy')
}

const anchors: Rule = ({ config: { mtls }, registries, clients, report, warn, isValid }) => {
  if (!isValid('mtls', 'plugins')) return
  for (const name of ['trust_anchors', 'intermediates'] as const)
    for (const [index, text] of (mtls?.[name] ?? []).entries())
      if (text !== undefined && findCertificatesFault(text) !== undefined)
        report(['mtls', name, index], 'holds no certificate that can be read')
  const uses =
    registries.clientAuthenticators.has(methods.byAuthority) ||
    clients.some((client) => client?.token_endpoint_auth_method === methods.byAuthority)
  const hasAnchors = (mtls?.trust_anchors?.length ?? 0) > 0
  if (mtls?.verified_by_proxy === true && hasAnchors)
    warn(['mtls', 'trust_anchors'], 'is not used: with verified_by_proxy the proxy alone verifies certificates')
  if (uses && mtls?.verified_by_proxy !== true && !hasAnchors)
    report(['mtls', 'trust_anchors'], 'is required for tls_client_auth, unless the proxy verifies: verified_by_proxy')
}

/** A requirement that cannot be met is reported at the start instead of at each request. */
const uses: Rule = ({ config, registries, clients, report, isValid }) => {
  if (!isValid('mtls', 'client_certificate_header', 'plugins') || hasClientCertificates(config)) return
  const missing = 'needs mtls.listen or client_certificate_header: no certificate comes in'
  for (const method of Object.values(methods))
    if (registries.clientAuthenticators.has(method)) report(['plugins'], `${method} ${missing}`)
  for (const [index, client] of clients.entries())
    if (client?.tls_client_certificate_bound_access_tokens === true)
      report(['clients', index, 'tls_client_certificate_bound_access_tokens'], missing)
}

export const mtlsRules: readonly Rule[] = [source, anchors, uses]
