import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

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
  it('sums up a file that is in order', async () => {
    await cli.write(
      'good.yaml',
      configuration(
        'clients: [{ client_id: svc, client_secret: s3cret-of-more-than-256-bits-for-tests, grant_types: [client_credentials] }]',
      ),
    )
    const { code, stdout, stderr } = await cli.run(['check', '--config', 'good.yaml'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('good.yaml is in order.')
    expect(stdout).toContain('issuer   http://localhost:3000')
    expect(stdout).toContain('ed-1 (EdDSA, local)')
    expect(stdout).toContain('clients  svc')
    expect(stdout).not.toContain('s3cret')
  })

  it('prints ten lines for ten mistakes', async () => {
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

  it('says of a file that is no YAML only that', async () => {
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

  it('makes nothing: neither keys nor a store', async () => {
    await cli.write('good.yaml', configuration())
    await cli.run(['check', '--config', 'good.yaml'])
    const { code, stdout } = await cli.run(['check', '--config', 'data/keys'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('ENOENT') })
  })
})
