import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { loadConfig, readConfig } from '../../config/load.js'
import { ConfigurationError } from '../../config/problems.js'
import { configWith, folderWith, minimal } from '../support/server/config-files.js'

const problemsOf = async (text: string, env: NodeJS.ProcessEnv = {}) =>
  (await readConfig(await configWith(text), env)).problems

const paths = async (text: string) => (await problemsOf(text)).map(({ path }) => path)

describe('reading a configuration', () => {
  it.each([
    ['https://id.bank.example', '0.0.0.0', 5],
    ['http://localhost:3000', '127.0.0.1', 0],
    ['http://127.0.0.9:3000', '127.0.0.9', 0],
    ['http://[::1]:3000', '::1', 0],
  ])('%s listens on %s by default', async (issuer, host, delay_secs) => {
    const text = minimal().replace('http://localhost:3000', issuer)
    const config = await loadConfig(await configWith(text), {})
    expect(config).toMatchObject({ listen: { host, port: 3000 }, shutdown: { delay_secs } })
  })

  it('fills in the defaults of the contract', async () => {
    const config = await loadConfig(await configWith(minimal()), {})
    expect(config).toMatchObject({
      listen: { host: '127.0.0.1', port: 3000 },
      admin: { host: '127.0.0.1', port: 3001 },
      workers: 1,
      trusted_proxies: [],
      response_types_supported: ['code'],
      access_token_signing_alg: 'ES256',
      default_audience: 'http://localhost:3000',
      authorization_code_ttl_secs: 60,
      access_token_ttl_secs: 600,
      id_token_ttl_secs: 3600,
      refresh_token_idle_ttl_secs: 14 * 86_400,
      refresh_token_absolute_ttl_secs: 90 * 86_400,
      session_ttl_secs: 14 * 86_400,
      clock_tolerance_secs: 10,
      token_exchange_enabled: false,
      storage: { records: { use: 'embedded' }, ephemeral: { use: 'embedded' } },
      log: { level: 'info' },
      audit: { file: './data/audit.jsonl' },
    })
    expect(config.keys[0]?.purposes).toEqual([
      'access_token',
      'id_token',
      'attestation',
      'userinfo',
      'introspection',
      'jarm',
      'logout_token',
      'status_list',
      'client_authentication',
      'handoff',
    ])
    expect(config.grant_types_supported).toBeUndefined()
  })

  it('is deeply frozen', async () => {
    const config = await loadConfig(await configWith(minimal('accounts: [{ username: a, password: b, sub: c }]')), {})
    const open: string[] = []
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return
      if (!Object.isFrozen(value)) open.push(path)
      for (const [name, inner] of Object.entries(value)) walk(inner, `${path}.${name}`)
    }
    walk(config, 'config')
    expect(open).toEqual([])
  })

  it('reads JSON, which is YAML', async () => {
    const json = JSON.stringify({
      issuer: 'https://id.bank.example/op',
      scopes_supported: ['openid'],
      keys: [{ kid: 'a', alg: 'EdDSA', signer: 'local', ref: 'a' }],
    })
    expect((await loadConfig(await configWith(json), {})).issuer).toBe('https://id.bank.example/op')
  })

  it('substitutes variables and files, and trims one trailing line break', async () => {
    const folder = await folderWith({
      'signet.yaml': minimal(`admin: { token: { $file: secrets/token } }
clients: [{ client_id: { $env: CLIENT }, client_secret: { $env: SECRET } }]
default_audience: { $env: AUDIENCE }`),
      'secrets/token': 'admin-token\n',
    })
    const env = { CLIENT: 'teller', SECRET: 'teller-secret', AUDIENCE: 'https://api.example' }
    const config = await loadConfig(join(folder, 'signet.yaml'), env)
    expect(config.admin.token?.reveal()).toBe('admin-token')
    expect(config.clients[0]).toMatchObject({ client_id: 'teller' })
    expect(config.clients[0]?.client_secret?.reveal()).toBe('teller-secret')
    expect(config.default_audience).toBe('https://api.example')
  })

  it('reports a missing variable and a missing file once each, with path and line', async () => {
    const problems = await problemsOf(
      minimal(`admin: { token: { $file: nowhere } }
default_audience: { $env: NOT_SET }`),
    )
    expect(problems).toEqual([
      { path: 'admin.token', message: 'the file nowhere cannot be read: there is no such file', line: 6 },
      { path: 'default_audience', message: 'the environment variable NOT_SET is not set', line: 7 },
    ])
  })

  it('shows no secret anywhere', async () => {
    const file = await configWith(
      minimal(`admin: { token: s3cret-token }
clients: [{ client_id: teller, client_secret: s3cret-client }]
accounts: [{ username: alice, password: s3cret-password, sub: '1' }]
plugins: [{ use: ./p.js, options: { nested: [{ key: { $env: KEY } }], pin: s3cret-pin, a_key: s3cret-a, product: loan } }]`),
    )
    const config = await loadConfig(file, { KEY: 's3cret-key' })
    for (const text of [inspect(config, { depth: 9 }), JSON.stringify(config)]) {
      expect(text).not.toContain('s3cret')
      expect(text.match(/\[secret\]/g)).toHaveLength(6)
      expect(text).toContain('loan')
    }
  })

  it('reads scopes by name or with their claims', async () => {
    const withScopes = (scopes: string) =>
      configWith(minimal().replace('[openid, profile, email, offline_access]', scopes))
    const { scopes_supported, scopes } = await loadConfig(
      await withScopes(
        '[openid, { name: pay, title: Pay, description: { de: Zahlen }, claims: [iban] }, { name: read }]',
      ),
      {},
    )
    expect(scopes_supported).toEqual(['openid', 'pay', 'read'])
    expect(scopes).toEqual([
      { name: 'openid', claims: [] },
      { name: 'pay', title: { en: 'Pay' }, description: { de: 'Zahlen' }, claims: ['iban'] },
      { name: 'read', claims: [] },
    ])
    const wrong =
      "[openid, { name: a b }, { name: c, title: {} }, { name: d, title: { e_n: x } }, { name: e, titel: x }, 'f g']"
    const { problems, salvaged } = await readConfig(await withScopes(wrong), {})
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      expect.stringMatching(/^scopes_supported\[1\]\.name: must be a scope name/),
      'scopes_supported[2].title: must have a text',
      'scopes_supported[3].title.e_n: must be a language tag, such as en or pt-BR (RFC 5646)',
      expect.stringMatching(/^scopes_supported\[5\]: must be a scope name/),
      'scopes_supported[4].titel: unknown key; did you mean `title`?',
    ])
    expect(salvaged.scopes_supported).toEqual(['openid'])
  })

  it('refuses rules for claims that are ambiguous or empty', async () => {
    const wrong = `claims:
  a: { value: 1, from: b, in: [id_token] }
  b: { only: ['*', 'a*b'], in: [token] }
  c: { for: [], value: null }
  d e: { in: [id_token] }
  f: { value: 1, only: [g], in: [id_token] }
  h: { only: [], in: [id_token] }
`
    expect((await problemsOf(minimal(wrong))).map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'claims.a.value: is the same for everyone: leave out from and only',
      'claims.b.only[0]: must be a value, or the beginning of values and then *',
      'claims.b.only[1]: must be a value, or the beginning of values and then *',
      'claims.b.in[0]: must be one of id_token, userinfo, access_token',
      'claims.c.value: must not be null',
      'claims.c.for: must name a client or a resource',
      'claims["d e"]: must be 1 to 128 printable characters without blanks',
      'claims.f.value: is the same for everyone: leave out from and only',
      'claims.h.only: must name at least one value',
    ])
  })

  it('refuses rules and scopes beyond their limits', async () => {
    const names = Array.from({ length: 101 }, (_, index) => `c${String(index)}`)
    const messages = async (more: string, scopes = '') =>
      (await problemsOf(minimal(more).replace(', offline_access]', `${scopes}]`))).map(
        ({ path, message }) => `${path}: ${message}`,
      )
    const rules = (count: number) =>
      `claims: { ${names
        .slice(0, count)
        .map((name) => `${name}: { in: [userinfo] }`)
        .join(', ')} }`
    expect(await messages(rules(100))).toEqual([])
    expect(await messages(rules(101))).toEqual(['claims: must have at most 100 claims'])
    const scope = (more: object) => messages('', `, ${JSON.stringify({ name: 'pay', ...more })}`)
    expect(await scope({ claims: names.slice(0, 100), title: 'x'.repeat(100), description: 'x'.repeat(300) })).toEqual(
      [],
    )
    const named = 'scopes_supported[3]'
    expect(await scope({ claims: names })).toEqual([`${named}.claims: must name at most 100 claims`])
    expect(await scope({ title: { en: 'x'.repeat(101) } })).toEqual([
      `${named}.title.en: must have at most 100 characters`,
    ])
    for (const text of ['a\nb', 'a\u0007b', ' ', ''])
      expect(await scope({ title: { en: text } })).toEqual([`${named}.title.en: must be one line of text`])
  })

  it('repeats no value in what it reports', async () => {
    const problems = await problemsOf(
      minimal(`admin: { token: [s3cret] }
accounts: [{ username: alice, password: s3cret, sub: '1', pasword: s3cret }]
log: { level: s3cret }
audit: s3cret
workers: s3cret`),
    )
    expect(problems).toHaveLength(5)
    expect(JSON.stringify(problems)).not.toContain('s3cret')
  })

  it('throws every problem in one error', async () => {
    const file = await configWith('isuer: http://localhost\nlog: { level: inof }\nkeys: []\nscopes_supported: [openid]')
    const error = await loadConfig(file, {}).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect((error as ConfigurationError).message.split('\n')).toEqual([
      'isuer: unknown key; did you mean `issuer`? (line 1)',
      'log.level: must be one of debug, info, warn, error; did you mean `info`? (line 2)',
      'keys: must have at least one key (line 3)',
    ])
  })

  it.each([
    ['a file that is not there', undefined, /cannot be read: there is no such file/],
    ['broken YAML', 'issuer: [', /is not proper YAML/],
    ['a custom tag', minimal('log: !!js/function "x"'), /is not proper YAML: tag resolve failed/],
    ['an alias bomb', bomb(), /too many YAML aliases/],
  ])('refuses %s', async (_name, text, message) => {
    const file = text === undefined ? join(await folderWith({}), 'none.yaml') : await configWith(text)
    const { problems, config } = await readConfig(file, {})
    expect(config).toBeUndefined()
    expect(problems.map((problem) => problem.message).join()).toMatch(message)
  })

  it('refuses a key that is written twice, and continues', async () => {
    expect(await paths(minimal('log: { level: info, level: debug }\nworkers: 0'))).toEqual(['log.level', 'workers'])
  })

  it('an empty file: the problems name what is required', async () => {
    expect(await paths('')).toEqual(['issuer', 'keys'])
  })

  it('does not let a key reach a prototype', async () => {
    expect(await paths(minimal('__proto__: { admin: 1 }\nconstructor: 1'))).toEqual(['__proto__', 'constructor'])
  })
})

function bomb(): string {
  const levels = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
  for (let level = 1; level < 8; level++)
    levels.push(
      `a${String(level)}: &a${String(level)} [${Array(9)
        .fill(`*a${String(level - 1)}`)
        .join()}]`,
    )
  return levels.join('\n')
}
