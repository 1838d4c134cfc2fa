import { expect, it } from 'vitest'
import { testCertificate } from '../support/server/certificate.js'
import { minimal, plugins } from '../support/server/config-files.js'
import { problemsOf } from '../support/server/problems-of.js'

const full = (extra = '') => minimal(plugins + extra)

const behindProxy =
  'trusted_proxies: [192.0.2.1/32]\nclient_certificate_header: { name: client-cert, format: rfc9440 }\n'

const client = (members: string) =>
  `clients: [{ client_id: c, client_secret: a-secret-of-more-than-256-bits-for-tests, redirect_uris: ['https://c.example'], ${members} }]`

it.each<[string, string]>([
  ['mtls: needs mtls.listen or client_certificate_header: no certificate comes in', full('mtls: {}')],
  ['mtls.listen.tls: is required where listen has no tls', full('mtls: { listen: { port: 8443 } }')],
  [
    'client_certificate_header: must not be given together with mtls.listen: a certificate comes from one place',
    full(`trusted_proxies: [192.0.2.1/32]\nclient_certificate_header: { name: client-cert, format: rfc9440 }
mtls: ${JSON.stringify({ listen: { port: 8443, tls: testCertificate } })}`),
  ],
  [
    'client_certificate_header: needs trusted_proxies: the header of anybody else is ignored',
    full('client_certificate_header: { name: client-cert, format: rfc9440 }'),
  ],
  [
    'mtls.verified_by_proxy: needs client_certificate_header: nothing else comes from a proxy',
    full(`mtls: ${JSON.stringify({ listen: { port: 8443, tls: testCertificate }, verified_by_proxy: true })}`),
  ],
  [
    'warning mtls.trust_anchors: is not used: with verified_by_proxy the proxy alone verifies certificates (line 15)',
    full(`${behindProxy}mtls: ${JSON.stringify({ trust_anchors: [testCertificate.cert], verified_by_proxy: true })}`),
  ],
  [
    'mtls.trust_anchors[0]: holds no certificate that can be read',
    full(`${behindProxy}mtls: { trust_anchors: ["-----BEGIN CERTIFICATE-----\\nAA==\\n-----END CERTIFICATE-----"] }`),
  ],
  [
    'mtls.trust_anchors: is required for tls_client_auth, unless the proxy verifies: verified_by_proxy',
    full(`${behindProxy}`).replace('plugins:\n', 'plugins:\n  - use: plugins/client-auth/tls-client-auth\n'),
  ],
  [
    'plugins: self_signed_tls_client_auth needs mtls.listen or client_certificate_header: no certificate comes in',
    full().replace('plugins:\n', 'plugins:\n  - use: plugins/client-auth/self-signed-tls-client-auth\n'),
  ],
  [
    'clients[0].tls_client_certificate_bound_access_tokens: needs mtls.listen or client_certificate_header: no certificate comes in',
    full(client('tls_client_certificate_bound_access_tokens: true')),
  ],
])('%s', async (problem, text) => {
  expect(await problemsOf(text)).toEqual([problem])
})
