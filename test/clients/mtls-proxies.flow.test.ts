import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { mtlsFetch, type ClientIdentity } from '../support/clients/mtls-fetch.js'
import {
  createCertificateAuthority,
  type CertificateAuthority,
  type IssuedCertificate,
} from '../support/forge/certificates.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { startServer, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

interface Place {
  readonly directory: string
  readonly port: number
  readonly upstream: string
}

const example = (name: string) => join(packageRoot, 'deploy', 'mtls', name)

const proxies = {
  haproxy: {
    format: 'der-base64',
    start: (program: string, { directory, port, upstream }: Place) => {
      const env = {
        ...{ ...process.env, SIGNET_BIND: `127.0.0.1:${String(port)}`, SIGNET: upstream },
        SIGNET_CERTIFICATE: join(directory, 'both.pem'),
        SIGNET_CLIENT_CA: join(directory, 'ca.pem'),
      }
      return Promise.resolve(spawn(program, ['-db', '-f', example('haproxy.cfg')], { env, stdio: 'ignore' }))
    },
  },
  nginx: {
    format: 'pem-urlencoded',
    start: async (program: string, { directory, port, upstream }: Place) => {
      const text = (await readFile(example('nginx.conf'), 'utf8'))
        .replace('listen 8443', `listen 127.0.0.1:${String(port)}`)
        .replace('server signet:3000', `server ${upstream}`)
        .replaceAll('/etc/nginx/', `${directory}/`)
      const file = join(directory, 'nginx.conf')
      await writeFile(file, `pid ${directory}/nginx.pid;\nerror_log stderr;\n${text}`)
      return spawn(program, ['-p', directory, '-c', file, '-g', 'daemon off;'], { stdio: 'ignore' })
    },
  },
} as const

for (const name of ['haproxy', 'nginx'] as const)
  describeWith(name, `clients with certificates behind deploy/mtls, ${name}`, (program) => {
    let root: CertificateAuthority
    let bank: IssuedCertificate
    let directory: string
    let server: TestServer
    let proxy: ChildProcess
    let base: string

    beforeAll(async () => {
      root = await createCertificateAuthority()
      bank = await root.issue({ san: [{ type: 'dns', value: 'app.bank.example' }] })
      directory = await mkdtemp(join(tmpdir(), 'signet-proxy-'))
      await writeFile(join(directory, 'both.pem'), testCertificate.cert + testCertificate.key)
      await writeFile(join(directory, 'signet.pem'), testCertificate.cert)
      await writeFile(join(directory, 'signet.key'), testCertificate.key)
      await writeFile(join(directory, 'ca.pem'), root.pem)
      const port = await freePort()
      base = `https://127.0.0.1:${String(port)}`
      server = await startServer({
        configure: (configuration) => ({
          ...configuration,
          trusted_proxies: ['127.0.0.1/32'],
          client_certificate_header: { name: 'X-Client-Cert', format: proxies[name].format },
          mtls: { base_url: base, trust_anchors: [root.pem] },
          plugins: [...(configuration['plugins'] as unknown[]), { use: 'plugins/client-auth/tls-client-auth' }],
          clients: [
            {
              ...{
                client_id: 'bank',
                token_endpoint_auth_method: 'tls_client_auth',
                grant_types: ['client_credentials'],
              },
              ...{ tls_client_auth_san_dns: 'app.bank.example', tls_client_certificate_bound_access_tokens: true },
            },
          ],
        }),
      })
      proxy = await proxies[name].start(program, { directory, port, upstream: new URL(server.issuer).host })
      await vi.waitFor(async () => expect((await mtlsFetch()(`${base}/jwks.json`)).status).toBe(200), {
        timeout: 30_000,
      })
    })
    afterAll(async () => {
      if (proxy.exitCode === null && proxy.kill('SIGTERM')) await once(proxy, 'close')
      await server[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    })

    const ask = async (identity: ClientIdentity, headers: Readonly<Record<string, string>> = {}) => {
      const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'bank' })
      const answer = await mtlsFetch(identity)(`${base}/token`, { method: 'POST', headers, body })
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    }

    it('the certificate of the connection arrives', async () => {
      expect(await ask({ certificate: bank })).toMatchObject({ status: 200, body: { token_type: 'Bearer' } })
    })

    it('no certificate arrives where none was sent', async () => {
      expect(await ask({})).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    })

    it('another client’s certificate arrives, and is refused here', async () => {
      const other = await createCertificateAuthority()
      const stranger = await other.issue({ san: [{ type: 'dns', value: 'app.bank.example' }] })
      expect(await ask({ certificate: stranger })).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    })

    it('MT04 a header of the client is overruled', async () => {
      for (const forged of [bank.der.toString('base64'), encodeURIComponent(bank.pem)])
        for (const header of ['X-Client-Cert', 'x-client-cert'])
          expect(await ask({}, { [header]: forged })).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    })
  })
