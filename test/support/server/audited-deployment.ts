import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JWK } from 'jose'
import { configuration, openCommandLine, requestToken, type CommandLine, type Service } from './command-line.js'
import type { Outcome } from './command-host.js'

/** A secret of the configuration that must be in no file. */
export const canary = 'canary-Zm9vYmFyYmF6cXV4cXV1eA'
const auditKey = '  - { kid: audit-1, alg: ES256, signer: local, ref: audit-1, purposes: [audit] }\n'

/** A deployment with a key for auditors. */
export const withAuditKey = (more = ''): string =>
  configuration(more)
    .replace(/^plugins:/m, `${auditKey}plugins:`)
    .replace(/^scopes/m, `pairwise_key: ${canary}${canary}\nscopes`)

export interface PackFault {
  readonly file?: string
  readonly message: string
}

/** A running service that has issued a token, whose operator makes auditor's packs. */
export interface AuditedDeployment extends AsyncDisposable {
  readonly cli: CommandLine
  readonly jwks: { readonly keys: readonly (JWK & { readonly kid: string })[] }
  readonly clientSecret: string
  path(...names: string[]): string
  read(...names: string[]): Promise<string>
  /** Makes a pack of all that has happened so far. */
  make(out: string, ...more: string[]): Promise<Outcome>
  verify(folder: string, ...more: string[]): Promise<Outcome>
  /** What is wrong with a pack, verified with the published keys. */
  findings(folder: string, ...more: string[]): Promise<readonly PackFault[]>
}

/** When the ranges of all packs begin. */
export const packsFrom = '2026-01-01T00:00:00Z'

/** A time after all that has happened so far. */
export const soon = async (): Promise<string> => {
  const now = Date.now()
  while (Date.now() <= now) await new Promise(setImmediate)
  return new Date(Date.now()).toISOString()
}

const start = async (cli: CommandLine): Promise<{ readonly service: Service; readonly clientSecret: string }> => {
  await cli.write('signet.yaml', withAuditKey('audit: { file: ./audit.jsonl }'))
  const service = await cli.serve(['start', '--config', 'signet.yaml'])
  const grant = ['--grant-type', 'client_credentials', '--scope', 'api', '--json']
  const { stdout } = await cli.run(['clients', 'add', '--config', 'signet.yaml', ...grant])
  const { client_id, client_secret } = JSON.parse(stdout) as { client_id: string; client_secret: string }
  const { status } = await requestToken(service, client_id, client_secret)
  if (status !== 200) throw new Error(`the token endpoint answers ${String(status)}`)
  return { service, clientSecret: client_secret }
}

export const openAuditedDeployment = async (): Promise<AuditedDeployment> => {
  const cli = await openCommandLine()
  const { service, clientSecret } = await start(cli)
  const answer = await fetch(new URL('/jwks.json', service.public))
  const jwks = (await answer.json()) as AuditedDeployment['jwks']
  await cli.write('jwks.json', JSON.stringify(jwks))
  const path = (...names: string[]): string => join(cli.folder, ...names)
  const verify = (folder: string, ...more: string[]) => cli.run(['audit', 'pack', '--verify', folder, ...more])
  return {
    ...{ cli, jwks, clientSecret, path, verify },
    read: (...names) => readFile(path(...names), 'utf8'),
    async make(out, ...more) {
      const range = ['--from', packsFrom, '--to', await soon(), '--out', out]
      const config = more.includes('--config') ? [] : ['--config', 'signet.yaml']
      return cli.run(['audit', 'pack', ...config, ...range, ...more])
    },
    async findings(folder, ...more) {
      const { code, stdout } = await verify(folder, '--json', '--key', 'jwks.json', ...more)
      const { findings } = JSON.parse(stdout) as { readonly findings: readonly PackFault[] }
      if (code !== (findings.length === 0 ? 0 : 1)) throw new Error(`the exit code is ${String(code)}`)
      return findings
    },
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  }
}
