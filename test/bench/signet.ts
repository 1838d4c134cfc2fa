import type { KeyObject } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { packageRoot } from '../../core/package-root.js'
import {
  apiScope,
  clientMetadata,
  codeChallenge,
  redirectUri,
  resource,
  type Contestant,
  type Setting,
} from './contestant.js'
import { freePort, receive, startPinned, stop } from './pinned.js'

const writeKey = (directory: string, privateKey: KeyObject): void => {
  mkdirSync(join(directory, 'keys'), { mode: 0o700 })
  writeFileSync(join(directory, 'keys', 'bench.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
    mode: 0o600,
  })
}

/** What a deployer would write; the store, the audit log and all checks as they are by default. */
const configuration = (directory: string, port: number, alg: string) => ({
  issuer: `http://127.0.0.1:${port}`,
  listen: { host: '127.0.0.1', port },
  admin: { host: join(directory, 'admin.sock') },
  scopes_supported: ['openid', 'offline_access', 'email', apiScope],
  id_token_signing_alg: alg,
  authorization_code_ttl_secs: 600,
  default_audience: resource,
  signers: { local: { use: 'signers/local', options: { directory: join(directory, 'keys') } } },
  keys: [{ kid: 'bench', alg, signer: 'local', ref: 'bench.pem' }],
  plugins: [
    { use: 'plugins/grants/authorization-code' },
    { use: 'plugins/grants/refresh-token' },
    { use: 'plugins/grants/client-credentials' },
    { use: 'plugins/client-auth/none' },
    { use: 'plugins/client-auth/client-secret' },
    { use: 'plugins/login/password' },
  ],
  storage: {
    records: { use: 'embedded', options: { path: join(directory, 'store') } },
    ephemeral: { use: 'embedded', options: { path: join(directory, 'store') } },
  },
  clients: clientMetadata.map((client) => ({ ...client, allowed_audiences: [resource] })),
  accounts: [
    {
      username: 'alice',
      password: 'correct horse battery staple',
      sub: 'alice',
      claims: { email: 'alice@bank.example', email_verified: true },
    },
  ],
  log: { level: 'warn' },
  audit: { file: join(directory, 'audit.jsonl') },
})

const answers = async (url: string): Promise<boolean> =>
  fetch(url).then(
    async (response) => {
      await response.arrayBuffer()
      return response.ok
    },
    () => false,
  )

/**
 * Signet as `npm start` runs it: `dist/core/main.js start` in a process of its own on the first core, in a directory
 * of its own. Codes are put into its store by another process while it runs, through the embedded adapter, as
 * `/authorize` would have put them; the store serves several processes of one host anyway.
 */
export const startSignet = async ({ alg, privateKey }: Setting): Promise<Contestant> => {
  const directory = mkdtempSync(join(tmpdir(), 'signet-bench-'))
  const port = await freePort()
  const file = join(directory, 'signet.yaml')
  writeKey(directory, privateKey)
  writeFileSync(file, stringify(configuration(directory, port, alg)))
  const child = startPinned(0, [join(packageRoot, 'dist/core/main.js'), 'start', '--config', file])
  const seeder = startPinned(1, [
    '--import',
    'tsx',
    fileURLToPath(new URL('seed-codes.ts', import.meta.url)),
    directory,
  ])
  await receive(seeder)

  const discovery = '/.well-known/openid-configuration'
  const until = Date.now() + 20_000
  while (!(await answers(`http://127.0.0.1:${port}${discovery}`))) {
    if (child.exitCode !== null || Date.now() > until) throw new Error('Signet did not start')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    name: 'signet',
    port,
    pid: child.pid,
    paths: { token: '/token', userinfo: '/userinfo', keySet: '/jwks.json', discovery },
    async mintCodes(count, request) {
      seeder.send({ count, ...request, redirectUri, codeChallenge, resource })
      const { codes } = (await receive(seeder)) as { codes: readonly string[] }
      return codes
    },
    async [Symbol.asyncDispose]() {
      await stop(seeder)
      await stop(child)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
