import { spawnSync } from 'node:child_process'
import type { KeyObject } from 'node:crypto'
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { fapiAlgorithms } from '../core/oauth/clients/security-profile.js'
import { packageRoot } from '../core/package-root.js'
import {
  apiScope,
  clientsFor,
  codeChallenge,
  confidential,
  fapi,
  redirectUri,
  resource,
  type Contestant,
  type Setting,
} from './contestant.js'
import { doubleRegion } from '../core/testing/kms-double/index.js'
import { UserAgent } from '../test/support/clients/user-agent.js'
import { freePort } from '../test/support/free-port.js'
import { receive, startPinned, stop, type Pinned } from '../test/support/peer/pinned.js'

/** The peer does not know this grant, and would not start with it. */
const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'

const writeKey = (directory: string, privateKey: KeyObject): void => {
  mkdirSync(join(directory, 'keys'), { mode: 0o700 })
  writeFileSync(join(directory, 'keys', 'bench.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  })
}

const signers = (directory: string, { token, idTokensBy }: Setting) => ({
  ...(token === undefined
    ? { local: { use: 'signers/local', options: { directory: join(directory, 'keys') } } }
    : {
        hsm: {
          use: 'signers/pkcs11',
          options: { module: token.module, token: token.label, pin: token.pin, environment: token.environment },
        },
      }),
  ...(idTokensBy && {
    // One attempt has 60 % of the deadline; the service's own limit of 2 s must be the shorter one.
    kms: {
      use: 'signers/aws-kms',
      options: { region: doubleRegion, endpoint: idTokensBy.endpoint, deadline_ms: 4000 },
    },
  }),
})

const keys = ({ alg, token, idTokensBy }: Setting) => {
  const file = { kid: 'bench', alg, signer: 'local', ref: 'bench.pem' }
  if (token !== undefined) return [{ ...file, signer: 'hsm', ref: 'pkcs11:object=bench' }]
  if (idTokensBy === undefined) return [file]
  return [
    { ...file, purposes: ['access_token', 'userinfo', 'attestation'] },
    { kid: 'bench-id', alg, signer: 'kms', ref: idTokensBy.ref, purposes: ['id_token'] },
  ]
}

/** All devices of the benchmark share one address. */
const most = 1_000_000

/** A second factor without cost, so that only the ceremony is measured. */
const secondFactor = `export default {
  name: 'bench',
  apiVersion: 1,
  create: () => ({
    secondFactors: [{ kind: 'bench', verify: async (_, { value }) => (value === 'right' ? { ok: true } : { ok: false }) }],
  }),
}
`

const storage = (directory: string, { stores, maxSizeMb }: Setting) => {
  const size = maxSizeMb === undefined ? {} : { max_size_mb: maxSizeMb }
  const embedded = { use: 'embedded', options: { path: join(directory, 'store'), ...size } }
  if (stores === undefined) return { records: embedded, ephemeral: embedded }
  return {
    records: { use: 'mongodb', options: { uri: stores.mongodb, database: stores.database } },
    ephemeral: { use: 'redis', options: { uri: stores.redis, key_prefix: stores.prefix } },
  }
}

const unlimitedAddress = { address_per_minute: 100_000_000 }
const unlimited = { ...unlimitedAddress, client_per_minute: 100_000_000 }

/** A typical deployment: the store, the audit log and all checks have their defaults. */
const configuration = (directory: string, port: number, setting: Setting) => ({
  issuer: `http://127.0.0.1:${port}`,
  workers: setting.workers ?? 1,
  listen: { host: '127.0.0.1', port },
  admin: { host: join(directory, 'admin.sock') },
  scopes_supported: ['openid', 'offline_access', 'email', apiScope],
  id_token_signing_alg: setting.alg,
  authorization_code_ttl_secs: 600,
  default_audience: resource,
  pairwise_key: 'known to all who read this benchmark',
  signers: signers(directory, setting),
  keys: keys(setting),
  plugins: [
    { use: 'plugins/grants/authorization-code' },
    { use: 'plugins/grants/refresh-token' },
    { use: 'plugins/grants/client-credentials' },
    { use: 'plugins/grants/token-exchange' },
    { use: 'plugins/client-auth/none' },
    { use: 'plugins/client-auth/client-secret' },
    { use: 'plugins/client-auth/private-key-jwt' },
    { use: 'plugins/login/password' },
    { use: './second-factor.js' },
    ...(setting.certificates ? [{ use: 'plugins/client-auth/tls-client-auth' }] : []),
    ...(setting.registry ? [{ use: 'plugins/attestation/registry' }] : []),
  ],
  storage: storage(directory, setting),
  token_exchange_enabled: true,
  attestation: { signing_alg: setting.alg },
  // All load comes from one address and one client, and is counted all the same.
  rate_limits: {
    token: unlimited,
    authorize: unlimitedAddress,
    par: unlimited,
    introspect: unlimited,
    userinfo: unlimitedAddress,
    documents: unlimitedAddress,
    attestation: { address_per_minute: most, key_per_minute: most, subject_per_minute: most },
  },
  ...(setting.certificates && {
    trusted_proxies: ['127.0.0.1/32'],
    client_certificate_header: { name: 'X-SSL-Cert', format: 'pem-urlencoded' },
    mtls: { verified_by_proxy: true },
  }),
  clients: clientsFor(setting).map((client) => ({
    ...client,
    ...(client.response_types.length > 0 && client.token_endpoint_auth_method !== 'none' && { consent: 'implicit' }),
    // The profile does not admit RS256 (FAPI 2.0 Security Profile §5.4.1).
    ...(client.client_id === fapi.id && fapiAlgorithms.includes(setting.alg) && { security_profile: 'fapi2' }),
    grant_types: [...client.grant_types, ...(client.client_id === confidential.id ? [tokenExchangeGrant] : [])],
    allowed_audiences: [resource],
  })),
  accounts: [
    {
      ...person,
      sub: 'alice',
      claims: { email: 'alice@bank.example', email_verified: true },
    },
  ],
  log: { level: setting.logLevel },
  audit: { file: join(directory, 'audit.jsonl') },
})

const person = { username: 'alice', password: 'correct horse battery staple' }

const untilItAnswers = async (url: string, child: Pinned): Promise<void> => {
  const until = Date.now() + 20_000
  while (Date.now() < until && child.exitCode === null) {
    const response = await fetch(url).catch(() => undefined)
    await response?.arrayBuffer()
    if (response?.ok) return
    await setTimeout(50)
  }
  throw new Error('Signet did not start')
}

export interface Signet extends Contestant {
  readonly directory: string
}

/**
 * Runs Signet like `npm start`: `dist/core/main.js start` in a separate process on the first core, in its own
 * directory. Another process stores codes while it runs, through the embedded adapter, as `/authorize` would; the
 * store supports several processes of one host anyway.
 */
export const startSignet = async (setting: Setting): Promise<Signet> => {
  const directory = mkdtempSync(join(tmpdir(), 'signet-bench-'))
  const port = await freePort()
  const file = join(directory, 'signet.yaml')
  writeKey(directory, setting.privateKey)
  writeFileSync(join(directory, 'second-factor.js'), secondFactor)
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  writeFileSync(file, stringify(configuration(directory, port, setting)))
  const main = join(packageRoot, 'dist/core/main.js')
  if (setting.stores)
    spawnSync(process.execPath, [main, 'migrate', '--config', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const { profileDirectory } = setting
  const profiling = profileDirectory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`]
  // The HSM's process represents a separate device, so it is not bound to the service's core.
  const child = startPinned(
    setting.token === undefined && (setting.workers ?? 1) === 1 ? 0 : '0,1',
    [...profiling, main, 'start', '--config', file],
    openSync(join(directory, 'signet.log'), 'a'),
  )
  const seeder = startPinned(1, [
    '--import',
    'tsx',
    fileURLToPath(new URL('seed-codes.ts', import.meta.url)),
    directory,
    JSON.stringify(setting.stores ?? null),
    ...(setting.maxSizeMb === undefined ? [] : [String(setting.maxSizeMb)]),
  ])
  const paths = {
    token: '/token',
    authorization: '/authorize',
    pushedAuthorizationRequest: '/par',
    userinfo: '/userinfo',
    introspection: '/introspect',
    keySet: '/jwks.json',
    discovery: '/.well-known/openid-configuration',
  }
  const dispose = async (): Promise<void> => {
    await stop(seeder)
    await stop(child)
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await receive(seeder)
    await untilItAnswers(`http://127.0.0.1:${port}${paths.discovery}`, child)
  } catch (error) {
    await dispose()
    throw error
  }
  return {
    name: 'signet',
    directory,
    port,
    pid: child.pid,
    paths,
    async mintCodes(count, request) {
      seeder.send({ count, ...request, redirectUri, codeChallenge, resource })
      const { codes } = (await receive(seeder)) as { codes: readonly string[] }
      return codes
    },
    async signIn() {
      const agent = new UserAgent()
      const query = { client_id: confidential.id, redirect_uri: redirectUri, response_type: 'code', scope: 'openid' }
      await agent.authorize(`http://127.0.0.1:${port}${paths.authorization}?${new URLSearchParams(query)}`, person)
      return [...agent.cookies].map(([name, { value }]) => `${name}=${value}`).join('; ')
    },
    [Symbol.asyncDispose]: dispose,
  }
}
