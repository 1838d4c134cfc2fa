import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../config/load.js'
import { formatProblem } from '../../config/problems.js'
import { folderWith, minimal } from '../support/server/config-files.js'

const environment = { PIN: 'a long PIN of the base', OTHER: 'another one of the environment' }

const read = async (files: Readonly<Record<string, string>>) => {
  const folder = await folderWith(files)
  return { folder, ...(await readConfig(join(folder, 'signet.yaml'), environment)) }
}
const problemsOf = async (files: Readonly<Record<string, string>>) => (await read(files)).problems.map(formatProblem)

describe('extends', () => {
  it('merges sections, replaces lists and values, and removes with null', async () => {
    const { config, problems, sources, folder } = await read({
      'base.yaml': minimal(
        'access_token_ttl_secs: 60\nid_token_ttl_secs: 70\nshutdown: { delay_secs: 3 }\nlisten: { host: 127.0.0.2, port: 1 }',
      ),
      'signet.yaml': `extends: ./base.yaml
scopes_supported: [other]
id_token_ttl_secs: null
listen: { port: 2 }
signers: { hsm: { use: signers/pkcs11, options: { module: /m.so, token: t, pin: { $env: PIN } } } }`,
    })
    expect(problems).toEqual([])
    expect(config).toMatchObject({
      scopes_supported: ['other'],
      access_token_ttl_secs: 60,
      id_token_ttl_secs: 3600,
      listen: { host: '127.0.0.2', port: 2 },
      shutdown: { delay_secs: 3 },
      signers: { local: { use: 'signers/local' }, hsm: { use: 'signers/pkcs11' } },
    })
    expect(config).not.toHaveProperty('extends')
    expect(sources).toEqual([join(folder, 'signet.yaml'), join(folder, 'base.yaml')])
  })

  it('replaces a section that uses another module as a whole', async () => {
    const { config } = await read({
      'base.yaml': minimal(),
      'signet.yaml': `extends: base.yaml\nsigners: { local: { use: signers/aws-kms, options: { region: eu-central-1 } } }`,
    })
    expect(config?.signers).toEqual({ local: { use: 'signers/aws-kms', options: { region: 'eu-central-1' } } })
  })

  it('replaces the source of a secret, and never merges two sources', async () => {
    const folder = {
      'secret.txt': 'from the file of the secret',
    }
    const token = async (base: string, written: string) => {
      const { config, problems } = await read({
        ...folder,
        'base.yaml': minimal(`admin: { token: ${base} }`),
        'signet.yaml': `extends: base.yaml\nadmin: { token: ${written} }`,
      })
      expect(problems).toEqual([])
      return config?.admin?.token?.reveal()
    }
    expect(await token('{ $env: PIN }', '{ $file: ./secret.txt }')).toBe('from the file of the secret')
    expect(await token('{ $file: ./secret.txt }', '{ $env: OTHER }')).toBe('another one of the environment')
  })

  it('forgets the lines of what it replaces', async () => {
    const problems = await problemsOf({
      'base.yaml': minimal(),
      'signet.yaml': 'extends: base.yaml\nkeys: [{ kid: es-2, alg: ES256, signer: local }]',
    })
    expect(problems).toEqual([expect.stringMatching(/^keys\[0\]\.ref: is required/)])
    expect(problems[0]).not.toContain('base.yaml')
  })

  it('finds a base beside the file that names it', async () => {
    const { sources, folder } = await read({
      'a/root.yaml': minimal(),
      'a/base.yaml': 'extends: root.yaml',
      'signet.yaml': 'extends: a/base.yaml',
    })
    expect(sources).toEqual(['signet.yaml', 'a/base.yaml', 'a/root.yaml'].map((name) => join(folder, name)))
  })

  it('reports the file and line of a problem', async () => {
    const problems = await problemsOf({
      'base.yaml': `${minimal()}\nlog: { level: loud }\nid_token_ttl_secs: ten`,
      'signet.yaml': 'extends: base.yaml\n\nid_token_ttl_secs: 0',
    })
    const line = minimal().split('\n').length + 1
    expect(problems).toEqual([
      'id_token_ttl_secs: must be at least 1 (line 3)',
      expect.stringMatching(new RegExp(`^log\\.level: must be one of .* \\(base\\.yaml, line ${String(line)}\\)$`)),
    ])
  })

  it('follows a chain, and refuses a cycle', async () => {
    const { config } = await read({
      'root.yaml': minimal('access_token_ttl_secs: 1\nid_token_ttl_secs: 1'),
      'base.yaml': 'extends: root.yaml\nid_token_ttl_secs: 2',
      'signet.yaml': 'extends: base.yaml',
    })
    expect(config).toMatchObject({ access_token_ttl_secs: 1, id_token_ttl_secs: 2 })
    const circle = await problemsOf({ 'signet.yaml': `extends: signet.yaml\n${minimal()}` })
    expect(circle).toEqual([expect.stringMatching(/^extends: extends more than 5 files, perhaps in a circle/)])
  })

  it.each([
    [
      'extends: none.yaml',
      /^extends: the configuration file none\.yaml cannot be read: there is no such file \(line 1\)$/,
    ],
    ["extends: ''", /^extends: must be the path of a configuration file \(line 1\)$/],
    ['extends: 7', /^extends: must be the path of a configuration file \(line 1\)$/],
    ['extends: broken.yaml', /^extends: is not proper YAML: .* \(line 1\)$/],
  ])('%s is refused', async (line, message) => {
    const problems = await problemsOf({ 'signet.yaml': `${line}\n${minimal()}`, 'broken.yaml': 'issuer: [' })
    expect(problems).toEqual([expect.stringMatching(message)])
  })
})
