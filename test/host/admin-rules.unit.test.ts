import { expect, it } from 'vitest'
import { ConfigurationError } from '../../config/problems.js'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { loadPages } from '../../core/host/load-pages.js'
import { testCertificate } from '../support/server/certificate.js'
import { configWith, minimal, plugins } from '../support/server/config-files.js'

/** The problems of this section, checked as `signet check` does it. */
const problemsOf = async (admin: object): Promise<string[]> => {
  try {
    await checkConfiguration(await configWith(minimal(`${plugins}admin: ${JSON.stringify(admin)}\n`)), {}, loadPages)
    return []
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return error.problems.map(({ path, message }) => `${path}: ${message}`)
  }
}

const clients = [{ tls_client_auth_san_dns: 'sign-in.bank.example' }]
const trust_anchors = [testCertificate.cert]
const tls = testCertificate

it.each<[string | undefined, object]>([
  [undefined, { handoff: { token: 'for-answers' } }],
  [undefined, { tls, handoff: { clients, trust_anchors } }],
  [undefined, { tls, token: 'everything', handoff: { token: 'for-answers', clients, trust_anchors } }],
  ['admin.handoff: needs token, clients, or both; otherwise nobody could answer', { handoff: {} }],
  [
    'admin.handoff.token: must be another than admin.token, which may do everything else',
    { token: 'one', handoff: { token: 'one' } },
  ],
  [
    'admin.handoff.clients: needs admin.tls: without TLS there is no certificate',
    { handoff: { clients, trust_anchors } },
  ],
  ['admin.handoff.trust_anchors: is required with clients', { tls, handoff: { clients } }],
  ['admin.handoff.clients: is required with trust_anchors', { tls, handoff: { token: 'for-answers', trust_anchors } }],
  [
    'admin.handoff.trust_anchors[0]: holds no certificate that can be read',
    { tls, handoff: { clients, trust_anchors: ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'] } },
  ],
  [
    'admin.handoff.clients[0].tls_client_auth_san_dns: must be a host name without wildcard',
    { tls, handoff: { clients: [{ tls_client_auth_san_dns: '*.bank.example' }], trust_anchors } },
  ],
  [
    'admin.handoff.clients[0]: must have one of tls_client_auth_subject_dn, tls_client_auth_san_dns, tls_client_auth_san_uri, tls_client_auth_san_ip, tls_client_auth_san_email (RFC 8705 §2.1.2)',
    { tls, handoff: { clients: [{}], trust_anchors } },
  ],
])('%s', async (problem, admin) => {
  expect(await problemsOf(admin)).toEqual(problem === undefined ? [] : [problem])
})
