import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import * as oidc from 'openid-client'
import { expect, it } from 'vitest'
import { createResourceServer, forHttp, type AccessTokenChecker } from '../../libraries/verify/index.js'
import { mtlsFetch } from '../support/clients/mtls-fetch.js'
import { createCertificateAuthority } from '../support/forge/certificates.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { startTokenServer } from '../support/server/token-server.js'

const keep = disposeAfterAll()
const audience = 'https://api.example/orders'

it('VR41: a token that is bound to a certificate needs the connection with it, or the header of the proxy', async () => {
  const root = await createCertificateAuthority()
  const port = await freePort()
  const base = `https://127.0.0.1:${String(port)}`
  await using issuer = await startTokenServer({
    configure: (written) => ({
      ...written,
      resources: [{ identifier: audience, scope: 'read write' }],
      mtls: { listen: { host: '127.0.0.1', port, tls: testCertificate }, base_url: base, trust_anchors: [root.pem] },
      plugins: [...(written['plugins'] as object[]), { use: 'plugins/client-auth/tls-client-auth' }],
      clients: [
        {
          client_id: 'bank',
          token_endpoint_auth_method: 'tls_client_auth',
          tls_client_auth_subject_dn: 'CN=bank',
          grant_types: ['client_credentials'],
          scope: 'read',
          allowed_audiences: [audience],
          tls_client_certificate_bound_access_tokens: true,
        },
      ],
    }),
  })
  const bank = { certificate: await root.issue({ subject: [{ CN: ['bank'] }] }) }
  const thief = { certificate: await root.issue({ subject: [{ CN: ['bank'] }] }) }
  const metadata = { use_mtls_endpoint_aliases: true }
  const client = await oidc.discovery(new URL(issuer.server.issuer), 'bank', metadata, oidc.TlsClientAuth(), {
    execute: [oidc.allowInsecureRequests],
  })
  const overTls = mtlsFetch(bank)
  client[oidc.customFetch] = (target, options) =>
    (target.startsWith('https:') ? overTls : fetch)(target, options as RequestInit)
  const { access_token: token } = await oidc.clientCredentialsGrant(client, { scope: 'read', resource: audience })

  // An API has to know where it is, which a port shows only once there is a server.
  let api: AccessTokenChecker | undefined
  const late: AccessTokenChecker = {
    check: (request, given) => api?.check(request, given) ?? Promise.reject(new Error('not yet')),
  }
  const server = createServer(
    { ...testCertificate, requestCert: true, rejectUnauthorized: false },
    forHttp(late, (_request, response, { confirmation }) => void response.end(JSON.stringify({ confirmation }))),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `https://127.0.0.1:${String((server.address() as AddressInfo).port)}`
  keep({
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
  const trusted = { issuers: [issuer.server.issuer], audience, origin: url, clock: issuer.now }
  api = createResourceServer(trusted).requireAccessToken({ scope: 'read' })
  const call = async (identity: Parameters<typeof mtlsFetch>[0], headers: Record<string, string> = {}) => {
    const response = await mtlsFetch(identity)(url, { headers: { authorization: `Bearer ${token}`, ...headers } })
    const body = (await response.json()) as Record<string, unknown>
    return { status: response.status, what: body['error_code'] ?? body['confirmation'] }
  }
  expect(await call(bank)).toEqual({ status: 200, what: 'certificate' })
  expect(await call(thief)).toEqual({ status: 401, what: 'certificate_mismatch' })
  const forged = { 'x-client-cert': encodeURIComponent(bank.certificate.pem) }
  expect(await call({}, forged)).toEqual({ status: 401, what: 'missing_certificate' })

  // Behind a proxy of the API's own, which says whose connection it was.
  const clientCertificate = (request: IncomingMessage | Request) => {
    const pem = (request as IncomingMessage).headers['x-client-cert'] as string | undefined
    return pem === undefined
      ? undefined
      : Buffer.from(decodeURIComponent(pem).replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64')
  }
  api = createResourceServer({ ...trusted, clientCertificate }).requireAccessToken({ scope: 'read' })
  expect(await call({}, forged)).toEqual({ status: 200, what: 'certificate' })
  expect(await call(bank)).toEqual({ status: 401, what: 'missing_certificate' })
})
