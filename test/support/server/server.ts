import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Clock } from '../../../core/clock.js'
import { checkConfiguration } from '../../../core/checks/check-configuration.js'
import { startHost, type Doubles } from '../../../core/host/compose.js'
import type { Log } from '../../../core/observe/log.js'
import { loadPages } from '../../../core/host/load-pages.js'
import { freePort } from '../free-port.js'
import { prepareStores, testStorage } from '../stores/test-stores.js'

type Json = Record<string, unknown>

export const person = { username: 'alice', password: 'correct horse battery staple' }
export const subject = '248289761001'
export const redirectUri = 'https://client.example/cb'

export const webClient = {
  client_id: 'web',
  client_secret: 'web-secret-of-more-than-256-bits-for-tests',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
}
export const publicClient = {
  client_id: 'app',
  token_endpoint_auth_method: 'none',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
}
export const serviceClient = {
  client_id: 'service',
  client_secret: 'service-secret-of-more-than-256-bits-for-tests',
  grant_types: ['client_credentials'],
  scope: 'read write',
}

/** A configuration that uses everything of this version, with short names. */
export const testConfiguration = (directory: string, port: number): Json => ({
  issuer: `http://127.0.0.1:${port}`,
  listen: { host: '127.0.0.1', port },
  admin: { host: '127.0.0.1', port: 0 },
  scopes_supported: ['openid', 'profile', 'email', 'offline_access', 'read', 'write'],
  id_token_signing_alg: 'ES256',
  signers: { local: { use: 'signers/local', options: { directory: join(directory, 'keys'), create: true } } },
  keys: [{ kid: 'es256', alg: 'ES256', signer: 'local', ref: 'es256.pem' }],
  plugins: [
    { use: 'plugins/grants/authorization-code' },
    { use: 'plugins/grants/refresh-token' },
    { use: 'plugins/grants/client-credentials' },
    { use: 'plugins/client-auth/none' },
    { use: 'plugins/client-auth/client-secret' },
    { use: 'plugins/client-auth/private-key-jwt' },
    { use: 'plugins/login/password' },
  ],
  storage: testStorage(join(directory, 'store')),
  clients: [webClient, publicClient, serviceClient],
  accounts: [
    { ...person, sub: subject, claims: { name: 'Alice Adams', email: 'alice@bank.example', email_verified: true } },
  ],
  audit: { file: join(directory, 'audit.jsonl') },
  // Tests are many people at one address.
  rate_limits: { authorize: { address_per_minute: 3000, address_open: 3000 } },
})

/** Only what should never happen is shown. */
const quiet: Log = { debug() {}, info() {}, warn() {}, error: (...entry) => console.error(...entry) }

export interface TestServer extends AsyncDisposable {
  readonly issuer: string
  readonly admin: string
  /** Where this server listens; the issuer names another one where there are several. */
  readonly origin: string
  readonly directory: string
  /** Lets slots of keys take the steps that are due by the clock of the test. */
  lookAtSlots(): Promise<void>
  /** Ends what withdrawn keys have signed. */
  endSignatures(signal: AbortSignal): Promise<void>
  /** The audit log so far. */
  audit(): Promise<readonly Json[]>
}

export interface TestServerOptions {
  /** Changes the configuration before it is written. */
  readonly configure?: (configuration: Json) => Json
  readonly clock?: Clock
  readonly monotonic?: () => number
  readonly log?: Log
  readonly doubles?: Doubles
}

/** A configuration in a temporary folder with stores of its own, of which servers may be started one after another. */
export interface TestDeployment extends AsyncDisposable {
  readonly directory: string
  /** Disposing of it stops it; all that it stored stays. */
  start(): Promise<TestServer>
}

export const prepareDeployment = async (options: TestServerOptions = {}): Promise<TestDeployment> => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-'))
  const file = join(directory, 'signet.yaml')
  const written = testConfiguration(directory, await freePort())
  await writeFile(file, stringify(options.configure?.(written) ?? written))
  return {
    directory,
    async start() {
      const checked = await checkConfiguration(file, {}, loadPages)
      await prepareStores(checked.config, options.doubles?.stores !== undefined)
      const host = await startHost(checked, { clock: Date.now, log: quiet, ...options })
      return {
        issuer: checked.config.issuer,
        admin: host.listening.admin,
        origin: host.listening.public,
        lookAtSlots: host.lookAtSlots,
        endSignatures: host.endSignatures,
        directory,
        async audit() {
          const text = await readFile(join(directory, 'audit.jsonl'), 'utf8')
          return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Json]))
        },
        [Symbol.asyncDispose]: () => host.close(1000),
      }
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}

/** A real server on loopback in a temporary folder; disposing of it stops it and removes the folder. */
export const startServer = async (options: TestServerOptions = {}): Promise<TestServer> => {
  const deployment = await prepareDeployment(options)
  const server = await deployment.start().catch(async (error: unknown) => {
    await deployment[Symbol.asyncDispose]()
    throw error
  })
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await deployment[Symbol.asyncDispose]()
    },
  }
}
