import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { createCertificateAuthority } from '../support/forge/certificates.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { person, redirectUri, startServer, subject } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { nimbusClient } from '../support/services/java-programs.js'

const payment = { type: 'payment', amount: '12.34', currency: 'EUR' }
const members = { amount: { type: 'string' }, currency: { type: 'string' } }

describeWith('nimbus', 'a FAPI 2.0 client in Java', () => {
  it('completes all flows over mutual TLS', { timeout: 60_000 }, async () => {
    const root = await createCertificateAuthority()
    const certificate = await root.issue({ subject: [{ CN: ['bank'] }] })
    const port = await freePort()
    await using server = await startServer({
      configure: (written) => ({
        ...written,
        security_profile: 'fapi2',
        fapi2_message_signing: ['response'],
        id_token_signing_alg: 'ES256',
        authorization_details_types: [
          { type: 'payment', schema: { type: 'object', additionalProperties: false, properties: members } },
        ],
        mtls: {
          listen: { host: '127.0.0.1', port, tls: testCertificate },
          base_url: `https://127.0.0.1:${String(port)}`,
          trust_anchors: [root.pem],
        },
        plugins: [...(written['plugins'] as object[]), { use: 'plugins/client-auth/tls-client-auth' }],
        clients: [
          {
            client_id: 'bank',
            token_endpoint_auth_method: 'tls_client_auth',
            tls_client_auth_subject_dn: 'CN=bank',
            tls_client_certificate_bound_access_tokens: true,
            security_profile: 'fapi2',
            redirect_uris: [redirectUri],
            grant_types: ['authorization_code', 'refresh_token'],
            authorization_details_types: ['payment'],
          },
        ],
      }),
    })
    const client = spawn('java', ['-XX:+UseSerialGC', '-cp', nimbusClient.classPath, 'FapiClient'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = once(client, 'exit')
    const lines = createInterface(client.stdout)[Symbol.asyncIterator]()
    try {
      const given = {
        ...{ issuer: server.issuer, client_id: 'bank', redirect_uri: redirectUri, alg: 'ES256' },
        ...{ certificates: [certificate.pem], server_certificate: testCertificate.cert },
        key: { ...(await crypto.subtle.exportKey('jwk', certificate.keys.privateKey)), key_ops: undefined },
        authorization_details: JSON.stringify([payment]),
      }
      client.stdin.write(`${JSON.stringify(given)}\n`)
      const url = (await lines.next()).value as string
      expect(Object.keys(Object.fromEntries(new URL(url).searchParams)).sort()).toEqual(['client_id', 'request_uri'])
      const left = await new UserAgent().authorize(url, person)
      expect([...left.searchParams.keys()]).toEqual(['response'])
      client.stdin.write(`${left.href}\n`)
      expect(JSON.parse((await lines.next()).value as string)).toEqual({
        ...{ sub: subject, userinfo_sub: subject, bound: true, refreshed: true, rotated: false },
        authorization_details: [payment],
      })
      expect(await ended).toEqual([0, null])
    } finally {
      client.kill('SIGKILL')
      await ended
    }
  })
})
