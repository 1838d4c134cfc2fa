import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { generateSchema } from '../../config/generate-schema.js'
import { readConfig } from '../../config/load.js'
import { configObject } from '../../config/schema.js'
import { checkStores } from '../../core/modules/load-store.js'
import { packageRoot } from '../../core/package-root.js'
import { readDocument } from '../support/document.js'
import { configWith, minimal } from '../support/server/config-files.js'

const read = async (text: string) => readConfig(await configWith(text), {})

const withIssuer = (issuer: string) => minimal().replace('http://localhost:3000', issuer)

const withKey = (key: string) => minimal().replace(/keys: .*/, `keys: [{ kid: a, signer: local, ref: a.pem, ${key} }]`)

describe('issuer', () => {
  it.each([
    'https://id.bank.example',
    'https://id.bank.example:8443/op',
    'https://bank.example/a/b',
    'http://localhost:3000',
    'http://127.0.0.1:3000/op',
    'http://127.1.2.3',
    "'http://[::1]:3000'",
  ])('takes %s', async (issuer) => {
    expect((await read(withIssuer(issuer))).problems).toEqual([])
  })

  it.each([
    'http://id.bank.example',
    'http://localhost.bank.example',
    'http://127.0.0.1.bank.example',
    'http://10.0.0.1',
    'https://id.bank.example/',
    'https://id.bank.example/op/',
    'https://id.bank.example?x=1',
    'https://id.bank.example?',
    "'https://id.bank.example#x'",
    "'https://id.bank.example#'",
    'https://ID.bank.example',
    'https://id.bank.example:443',
    'https://user:pw@id.bank.example',
    'https://id.bank.example/a/../b',
    'https://id.bank.example//op',
    'ftp://id.bank.example',
    'id.bank.example',
    '7',
  ])('refuses %s', async (issuer) => {
    expect((await read(withIssuer(issuer))).problems.map(({ path }) => path)).toEqual(['issuer'])
  })
})

describe('algorithms', () => {
  it.each(['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'])('takes %s', async (alg) => {
    expect((await read(withKey(`alg: ${alg}`))).problems).toEqual([])
  })

  it.each([
    ['HS256', /symmetric/],
    ['hs512', /symmetric/],
    ['none', /no signature/],
    ['ES256K', /must be one of .*ES256/],
    ['es256', /did you mean `ES256`/],
  ])('refuses %s and says why', async (alg, message) => {
    for (const text of [withKey(`alg: ${alg}`), minimal(`access_token_signing_alg: ${alg}`)]) {
      const { problems } = await read(text)
      expect(problems).toHaveLength(1)
      expect(problems[0]?.message).toMatch(message)
    }
  })
})

describe('keys', () => {
  it('reads times as milliseconds', async () => {
    const { config } = await read(
      withKey('alg: ES256, not_before: 2026-11-20T00:00:00Z, not_after: 2026-11-20T02:00:00+01:00'),
    )
    expect(config?.keys[0]).toMatchObject({
      not_before: Date.UTC(2026, 10, 20),
      not_after: Date.UTC(2026, 10, 20, 1),
    })
  })

  it.each([
    ['not_before: 2026-11-20T00:00:00Z, not_after: 2026-11-20T00:00:00Z', 'keys[0].not_after'],
    ['not_before: 2026-11-20', 'keys[0].not_before'],
    ['not_after: 2026-11-20T00:00:00', 'keys[0].not_after'],
    ['purposes: []', 'keys[0].purposes'],
    ['purposes: [acess_token]', 'keys[0].purposes[0]'],
  ])('refuses %s', async (member, path) => {
    expect((await read(withKey(`alg: ES256, ${member}`))).problems.map((problem) => problem.path)).toEqual([path])
  })
})

describe('mutual TLS', () => {
  it.each([
    ['client_certificate_header: x-client-cert', 'client_certificate_header'],
    ['client_certificate_header: { name: x client, format: xfcc }', 'client_certificate_header.name'],
    ['client_certificate_header: { name: x-client-cert, format: pem }', 'client_certificate_header.format'],
    ['mtls: { listen: { port: 8443 }, base_url: http://mtls.example }', 'mtls.base_url'],
    ['mtls: { listen: { port: 8443 }, base_url: https://mtls.example/path }', 'mtls.base_url'],
    ['mtls: { listen: { host: 0.0.0.0 } }', 'mtls.listen.port'],
    ['mtls: { trust_anchors: [ca.pem] }', 'mtls.trust_anchors[0]'],
  ])('%s is refused', async (text, path) => {
    expect((await read(minimal(text))).problems.map((problem) => problem.path)).toContain(path)
  })
})

describe('storage', () => {
  const uri = 'uri: "redis://h"'
  const problemsOf = async (text: string) => {
    const { problems, salvaged } = await read(minimal(`storage: { ${text} }`))
    return [...problems, ...(await checkStores(salvaged, '.'))]
  }

  it.each(['embedded', 'stores/embedded'])('takes %s with its defaults', async (use) => {
    expect(await problemsOf(`records: { use: ${use} }, ephemeral: { use: ${use}, options: {} }`)).toEqual([])
  })

  it.each([
    ['records: { use: redis, options: { uri: "redis://h" } }', 'records.use', /only for storage.ephemeral/],
    ['ephemeral: { use: rediss }', 'ephemeral.use', /did you mean `redis`/],
    ['ephemeral: { options: {} }', 'ephemeral.use', /is required/],
    ['ephemeral: { use: redis, options: {} }', 'ephemeral.options.uri', /is required/],
    ['ephemeral: { use: redis, options: { uri: "http://h" } }', 'ephemeral.options.uri', /redis:\/\//],
    ['ephemeral: { use: redis, options: { uri: "redis://h/cache" } }', 'ephemeral.options.uri', /number of a database/],
    ['ephemeral: { use: redis, options: { uri: "redis://h?db=1" } }', 'ephemeral.options.uri', /no query/],
    [`ephemeral: { use: redis, options: { ${uri}, key_prefix: "{a}" } }`, 'ephemeral.options.key_prefix', /letters/],
    [`ephemeral: { use: redis, options: { ${uri}, ca: ./ca.pem } }`, 'ephemeral.options.ca', /PEM/],
    [
      `ephemeral: { use: redis, options: { ${uri}, cluster: { nodes: [h] } } }`,
      'ephemeral.options.cluster.nodes[0]',
      /host:port/,
    ],
    [
      `ephemeral: { use: redis, options: { ${uri}, cluster: {}, sentinel: { name: a } } }`,
      'ephemeral.options.cluster',
      /must not be given together with sentinel/,
    ],
    [
      `ephemeral: { use: redis, options: { ${uri}, eviction_policy_acknowledged: allkeys-lru } }`,
      'ephemeral.options.eviction_policy_acknowledged',
      /must be noeviction/,
    ],
    ['records: { use: stores/redis, options: { uri: "redis://h" } }', 'records.use', /^redis: only for storage.ephem/],
    ['records: { use: embeded }', 'records.use', /must be one of embedded, mongodb, redis; did you mean `embedded`/],
    ['records: { use: stores/mongo }', 'records.use', /did you mean `stores\/mongodb`/],
    ['records: { use: signers/local }', 'records.use', /must be one of stores\/…, not of signers/],
    ['records: { use: postgres }', 'records.use', /not installed; the built-in stores are embedded, mongodb, redis/],
    ['records: { options: { path: 7 } }', 'records.use', /is required/],
    [
      'records: { use: embedded, options: { path: 7 } }',
      'records.options.path',
      /must be a string \(put it in quotes\)/,
    ],
    ['records: { use: embedded, options: { paht: x } }', 'records.options.paht', /did you mean `path`/],
    ['records: { use: embedded, options: { max_size_mb: 0 } }', 'records.options.max_size_mb', /at least 1$/],
    ['records: { use: mongodb }', 'records.options.uri', /is required/],
    [
      'ephemeral: { use: redis, options: { uri: "redis://h", cluster: } }',
      'ephemeral.options.cluster',
      /must be a section such as/,
    ],
  ])('refuses %s', async (text, path, message) => {
    const problems = await problemsOf(text)
    expect(problems.map((problem) => problem.path)).toEqual([`storage.${path}`])
    expect(problems[0]?.message).toMatch(message)
  })

  it('hides the URI, which contains the password, from every output', async () => {
    const text =
      'storage: { ephemeral: { use: redis, options: { uri: "rediss://signet:pa55@h:6380/1", sentinel: { name: a, password: pa55 } } } }'
    const { problems, config } = await read(minimal(text))
    expect(problems).toEqual([])
    expect(JSON.stringify(config)).not.toContain('pa55')
  })
})

describe('sections', () => {
  it.each([
    ['admin: { host: 0.0.0.0 }', 'admin.token'],
    ['admin: { host: admin.example }', 'admin.token'],
    ['listen: { host: /run/signet.sock, port: 3000 }', 'listen.port'],
    ['listen: { port: 70000 }', 'listen.port'],
    ['listen: { tls: { cert: ./cert.pem, key: ./key.pem } }', 'listen.tls.cert'],
    ['trusted_proxies: [10.0.0.0/33]', 'trusted_proxies[0]'],
    ['trusted_proxies: [10.0.0.1]', 'trusted_proxies[0]'],
    ["trusted_proxies: ['::/129']", 'trusted_proxies[0]'],
    ['response_types_supported: [token]', 'response_types_supported[0]'],
    ['access_token_ttl_secs: 0', 'access_token_ttl_secs'],
    ['access_token_ttl_secs: 1.5', 'access_token_ttl_secs'],
    ["access_token_ttl_secs: '600'", 'access_token_ttl_secs'],
    ['authorization_code_ttl_secs: 601', 'authorization_code_ttl_secs'],
    ["resources: [{ identifier: 'https://api.example#x' }]", 'resources[0].identifier'],
    ['accounts: [{ username: a, password: b, sub: 248289761001 }]', 'accounts[0].sub'],
    ["accounts: [{ username: a, password: b, sub: '1', claims: { sub: '2' } }]", 'accounts[0].claims'],
    ['audit: { file: stdout }', 'audit.file'],
    ['rate_limits: { login: {} }', 'rate_limits.login'],
    ['plugins: [plugins/login/password]', 'plugins[0]'],
    ['clients: [portal]', 'clients[0]'],
  ])('%s', async (text, path) => {
    const paths = (await read(minimal(text))).problems.map((problem) => problem.path)
    expect(new Set(paths).has(path), paths.join()).toBe(true)
  })

  it.each([
    'listen: { host: /run/signet.sock }',
    'admin: { host: /run/signet-admin.sock }',
    "admin: { host: '::1' }",
    'admin: { host: 0.0.0.0, token: long-enough }',
    "trusted_proxies: [10.0.0.0/8, 'fd00::/8', 0.0.0.0/0]",
    'audit: stdout',
  ])('takes %s', async (text) => {
    expect((await read(minimal(text))).problems).toEqual([])
  })
})

describe('the JSON Schema for editors', () => {
  it('is up to date, as is the reference of every key (npm run schema)', async () => {
    const committed = await readFile(join(packageRoot, 'config', 'schema.json'), 'utf8')
    const { schema, reference } = await generateSchema()
    expect(JSON.parse(committed)).toEqual(JSON.parse(schema))
    expect(readDocument('docs/configuration-reference.md')).toBe(reference)
  })

  it('knows every key, and allows variables and files in place of text', async () => {
    const schema = JSON.parse((await generateSchema()).schema)
    expect(Object.keys(schema.properties)).toEqual(Object.keys(configObject.shape))
    expect(schema.additionalProperties).toBe(false)
    expect(schema.properties.issuer.anyOf).toContainEqual({ $ref: '#/$defs/substitution' })
    expect(schema.properties.access_token_ttl_secs.type).toBe('integer')
  })
})

describe('workers', () => {
  it.each(['1', '2', '64', 'auto'])('%s', async (count) => {
    expect((await read(minimal(`workers: ${count}`))).problems).toEqual([])
  })

  it.each(['0', '65', '1.5', 'all', '[]'])('refuses %s', async (count) => {
    const { problems } = await read(minimal(`workers: ${count}`))
    expect(problems).toMatchObject([{ path: 'workers', message: 'must be a whole number from 1 to 64, or auto' }])
  })
})

describe('shutdown.delay_secs', () => {
  it.each([
    ['listen: { host: 0.0.0.0 }', 5],
    ['', 0],
    ['listen: { host: 127.0.0.1 }', 0],
    ['listen: { host: ./signet.sock }', 0],
    ['listen: { host: 127.0.0.1 }\nshutdown: { delay_secs: 3 }', 3],
    ['shutdown: { delay_secs: 0 }', 0],
  ])('%j: %d', async (text, seconds) => {
    expect((await read(minimal(text))).config?.shutdown.delay_secs).toBe(seconds)
  })
})
