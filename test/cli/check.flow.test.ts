import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configuration, forServices, openCommandLine, type CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const tenMistakes = `
issuer: http://id.bank.example
listen: { host: 0.0.0.0, prot: 3000 }
scopes_supported: [openid, profile]
id_token_signing_alg: HS256
access_token_ttl_secs: ten
signers:
  local: { use: signers/local, options: { directory: ./keys, creat: true } }
keys:
  - { kid: es-1, alg: ES256, signer: lokal, ref: es-1 }
plugins:
  - use: plugins/grants/authorization-code
  - use: plugins/grants/client-credential
  - use: plugins/client-auth/client-secret
  - use: plugins/login/password
log: { level: verbose }
clients:
  - { client_id: teller, client_secret: {$env: SIGNET_TEST_ABSENT}, redirect_uris: [https://teller.bank.example/cb] }
  - { client_id: page, token_endpoint_auth_method: none, redirect_uris: [http://page.bank.example/cb] }
`

describe('signet check', () => {
  it('summarises a valid file', async () => {
    await cli.write(
      'good.yaml',
      forServices(
        'clients: [{ client_id: svc, client_secret: s3cret-of-more-than-256-bits-for-tests, grant_types: [client_credentials] }]',
      ).replace('keys:\n', 'keys:\n  - { kid: rs-1, alg: RS256, signer: local, ref: rs-1 }\n'),
    )
    const { code, stdout, stderr } = await cli.run(['check', '--config', 'good.yaml'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('good.yaml is in order.')
    expect(stdout).toContain('issuer   http://localhost:3000')
    expect(stdout).toContain('ed-1 (EdDSA, local)')
    expect(stdout).toContain('clients  svc')
    expect(stdout).not.toContain('s3cret')
  })

  it('prints a line for each of ten mistakes', async () => {
    await cli.write('bad.yaml', tenMistakes)
    const { code, stdout, stderr } = await cli.run(['check', '--config', 'bad.yaml'])
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => line.slice(0, line.indexOf(': ')))).toEqual([
      'issuer',
      'listen.prot',
      'id_token_signing_alg',
      'access_token_ttl_secs',
      'signers.local.options.creat',
      'keys[0].signer',
      'plugins[1].use',
      'log.level',
      'clients[0].client_secret',
      'clients[1].redirect_uris[0]',
    ])
    for (const line of lines) expect(line).toMatch(/^[a-z_[\]0-9.]+: .+ \(line \d+\)$/)
  })

  it.each(['scopes_supported', 'plugins', 'signers', 'issuer', 'keys'])(
    'suggests %s when it is misspelt',
    async (name) => {
      await cli.write('misspelt.yaml', configuration().replace(new RegExp(`^${name}`, 'm'), name.slice(0, -1)))
      const { code, stdout, stderr } = await cli.run(['check', 'misspelt.yaml'])
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
      expect(stdout).toContain(`did you mean \`${name}\`?`)
    },
  )

  it('reports only the YAML error for a file that does not parse', async () => {
    await cli.write('broken.yaml', 'issuer: [')
    const { code, stdout } = await cli.run(['check', '--config', 'broken.yaml'])
    expect(code).toBe(1)
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .every((line) => line.startsWith('is not proper YAML')),
    ).toBe(true)
  })

  it('names the failing line of a plugin, and prints its stack with --verbose', async () => {
    const create = "() => { throw new Error('boom') }"
    await cli.write('package.json', '{"type":"module"}')
    await cli.write('loan.js', `export default {\n  name: 'loan',\n  apiVersion: 1,\n  create: ${create},\n}\n`)
    const broken = {
      'syntax.js': 'export default {\n  name: (\n}\n',
      'thrown.js': 'export const x = 1\n\nthrow new Error("at import")\n',
      'named.js': 'import { none } from "node:fs"\n',
      'absent.js': 'import "no-such-package"\n',
    }
    for (const [name, text] of Object.entries(broken)) await cli.write(name, text)
    const uses = ['loan.js', ...Object.keys(broken)].map((name) => `  - use: ./${name}`)
    await cli.write('plugins.yaml', configuration(uses.join('\n')))
    const { code, stdout, stderr } = await cli.run(['check', 'plugins.yaml'])
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^plugins\[6\]: could not be created: boom \(loan\.js:4:\d+\) \(line \d+\)$/),
      expect.stringMatching(
        /^plugins\[7\]\.use: cannot be loaded: Unexpected token '}' \(syntax\.js:3:1\) \(line \d+\)$/,
      ),
      expect.stringMatching(/^plugins\[8\]\.use: cannot be loaded: at import \(thrown\.js:3:7\) \(line \d+\)$/),
      expect.stringMatching(/^plugins\[9\]\.use: cannot be loaded: .*'none'.* \(named\.js:1\) \(line \d+\)$/),
      expect.stringMatching(
        /^plugins\[10\]\.use: cannot be loaded: .*'no-such-package' imported from .*absent\.js \(line \d+\)$/,
      ),
    ])
    const verbose = await cli.run(['check', 'plugins.yaml', '--verbose'])
    expect(verbose.stdout).toBe(stdout)
    expect(verbose.stderr).toMatch(/^Error: boom\n +at \S+ \(file:.*loan\.js:4:\d+\)$/m)
  })

  it('creates neither keys nor a store', async () => {
    await cli.write('good.yaml', configuration())
    await cli.run(['check', '--config', 'good.yaml'])
    const { code, stdout } = await cli.run(['check', '--config', 'data/keys'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('there is no such file') })
  })
})
