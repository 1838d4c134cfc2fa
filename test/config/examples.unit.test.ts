import { spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../config/problems.js'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { packageRoot } from '../../core/package-root.js'
import { loadPages } from '../../core/host/load-pages.js'
import { folderWith } from '../support/server/config-files.js'

const config = join(packageRoot, 'config')
const examples = ['default.yaml', ...(await readdir(join(config, 'examples'))).map((name) => `examples/${name}`)]

/** What the examples take from there. */
const environment = {
  MONGODB_URI: 'mongodb://signet:a-secret@db-1.example.com,db-2.example.com/?replicaSet=rs0&tls=true',
  REDIS_URI: 'rediss://signet:a-secret@redis-1.example.com:6379',
}

/** The example where a deployer would have put it, beside the files that it names. */
const deploy = async (example: string): Promise<string> => {
  const text = await readFile(join(config, example), 'utf8')
  const secrets = [...text.matchAll(/\$file: (secrets\/[\w-]+)/g)].map(([, name]) => [
    name,
    'a-secret-from-a-file-of-32-characters\n',
  ])
  return join(await folderWith({ 'signet.yaml': text, ...Object.fromEntries(secrets) }), 'signet.yaml')
}

describe('the example files', () => {
  it.each(examples)('%s is valid', async (example) => {
    const checked = await checkConfiguration(await deploy(example), environment, loadPages)
    expect(checked.warnings).toEqual([])
    expect(checked.modules.plugins).toHaveLength(checked.config.plugins.length)
    expect(checked.clients).toHaveLength(checked.config.clients.length)
  })

  it.each(examples)('%s names the schema for editors', async (example) => {
    const [first = ''] = (await readFile(join(config, example), 'utf8')).split('\n')
    const named = /^# yaml-language-server: \$schema=(\S+)$/.exec(first)?.[1] ?? ''
    expect(join(config, example, '..', named)).toBe(join(config, 'schema.json'))
  })

  it('the default is valid in the compiled program too, with the compiled plugins', async () => {
    const script = `
      const { checkConfiguration } = await import('./dist/core/checks/check-configuration.js')
      const { loadPages } = await import('./dist/core/host/load-pages.js')
      const { modules } = await checkConfiguration('config/default.yaml', {}, loadPages)
      console.log(modules.plugins.map(({ module }) => module.name).join(), [...modules.signers.keys()].join())`
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: packageRoot,
      encoding: 'utf8',
    })
    expect(run.stderr).toBe('')
    const used = (await readFile(join(config, 'default.yaml'), 'utf8')).match(/use: (?:plugins|signers)\//g)
    expect(run.stdout.trim().split(/[, ]/)).toHaveLength(used?.length ?? 0)
  })
})

describe('a file with ten mistakes', () => {
  it('reports all ten in one go, each with its path and line', async () => {
    const file = join(packageRoot, 'test/config/ten-mistakes.yaml')
    const error = await checkConfiguration(file, {}, loadPages).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConfigurationError)
    const { problems } = error as ConfigurationError
    expect(problems.map(({ path, line }) => `${path} ${String(line)}`)).toEqual([
      'issuer 2',
      'listen.prot 3',
      'access_token_ttl_secs 5',
      'signers.local.options.creat 9',
      'keys[1].alg 12',
      'keys[2].signer 13',
      'plugins[4].use 20',
      'clients[0].client_secret 24',
      'clients[1].redirect_uris[0] 28',
      'clients[2].scope 32',
    ])
    const hints = problems.flatMap(({ message }) => /did you mean `(.+)`/.exec(message)?.[1] ?? [])
    expect(hints).toEqual(['port', 'create', 'local', 'plugins/grants/refresh-token', 'profile'])
  })
})
