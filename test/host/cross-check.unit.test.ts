import { describe, expect, it } from 'vitest'
import { minimal, plugins } from '../support/server/config-files.js'
import { problemsOf } from '../support/server/problems-of.js'

const full = (extra = '') => minimal(plugins + extra)

const client = (members: string) =>
  `clients: [{ client_id: c, client_secret: a-secret-of-more-than-256-bits-for-tests, redirect_uris: ['https://c.example'], ${members} }]`

describe('cross-checks', () => {
  it('find nothing in a consistent configuration', async () => {
    expect(await problemsOf(full(client('grant_types: [authorization_code, refresh_token]')))).toEqual([])
  })

  it.each([
    ...['2', 'auto'].map((workers): [string, string] => [
      'workers: must be 1 with `audit: stdout`, which only one process can print: log to a file, or run replicas',
      full(`audit: stdout\nworkers: ${workers}\n`),
    ]),
    [
      'keys[0].signer: there is no signer with this name; did you mean `local`?',
      full().replace('signer: local', 'signer: locla'),
    ],
    ['keys[1].kid: is the same as keys[0].kid', full().replace('kid: r', 'kid: a')],
    [
      'id_token_signing_alg: there is no key for PS256 with the purpose id_token',
      full().replace('_alg: ES256', '_alg: PS256\naccess_token_signing_alg: ES256'),
    ],
    [
      'access_token_signing_alg: there is no key for EdDSA with the purpose access_token',
      full('access_token_signing_alg: EdDSA'),
    ],
    [
      'access_token_signing_alg: there is no key for ES256 with the purpose access_token',
      full().replace('ref: a.pem', 'ref: a.pem, purposes: [id_token]'),
    ],
    [
      'clients[0].id_token_signed_response_alg: there is no key for PS256 with the purpose id_token',
      full(client('id_token_signed_response_alg: PS256')),
    ],
    [
      'clients[0].userinfo_signed_response_alg: there is no key for EdDSA with the purpose userinfo',
      full(client('userinfo_signed_response_alg: EdDSA')),
    ],
    [
      'grant_types_supported[1]: no plugin provides this grant; did you mean `refresh_token`?',
      full('grant_types_supported: [authorization_code, refresh_tokn]'),
    ],
    ['clients[0].grant_types[0]: no plugin provides this grant', full(client("grant_types: ['urn:bank:grant:loan']"))],
    [
      'clients[0].grant_types[1]: this grant is not in grant_types_supported',
      full(
        `grant_types_supported: [authorization_code]\n${client('grant_types: [authorization_code, refresh_token]')}`,
      ),
    ],
    [
      'clients[0].token_endpoint_auth_method: no plugin provides this method',
      full(client('token_endpoint_auth_method: attest_jwt_client_auth').replace(/client_secret: [^,]*, /, '')),
    ],
    [
      'clients[0].token_endpoint_auth_method: is not named, and no plugin provides client_secret_basic or client_secret_post',
      full(client('scope: openid')).replace('  - use: plugins/client-auth/client-secret\n', ''),
    ],
    ['clients[0].scope: admin is not in scopes_supported', full(client('scope: openid admin'))],
    [
      'clients[1].client_id: is the same as clients[0].client_id',
      full(
        'clients: [{ client_id: c, client_secret: a-secret-of-more-than-256-bits-for-tests, grant_types: [client_credentials] }, { client_id: c, client_secret: a-secret-of-more-than-256-bits-for-tests, grant_types: [client_credentials] }]',
      ),
    ],
    [
      'clients[0].client_id: is the subject of a person: accounts[0].sub',
      full(`accounts: [{ username: a, password: correct horse, sub: c }]\n${client('scope: openid')}`),
    ],
    [
      'accounts[1].sub: is the same as accounts[0].sub',
      full(
        "accounts: [{ username: a, password: correct horse, sub: '1' }, { username: b, password: correct horse, sub: '1' }]",
      ),
    ],
    [
      'accounts[1].username: is the same as accounts[0].username',
      full(
        "accounts: [{ username: a, password: correct horse, sub: '1' }, { username: a, password: correct horse, sub: '2' }]",
      ),
    ],
    [
      'scopes_supported[4]: is the same as scopes_supported[1]',
      full().replace('offline_access]', 'offline_access, { name: profile, claims: [department] }]'),
    ],
    [
      'scopes_supported[4].claims[1]: is a claim that only Signet sets',
      full().replace('offline_access]', 'offline_access, { name: staff, claims: [department, client_id] }]'),
    ],
    [
      'claims.exp: is a claim that only Signet sets',
      full('claims: { exp: { value: 1, in: [access_token] }, roles: { in: [access_token] } }'),
    ],
    [
      'resources[0].scope: pay is not in scopes_supported',
      full("resources: [{ identifier: 'https://api.example', scope: pay }]"),
    ],
    [
      'resources[1].identifier: is the same as resources[0].identifier',
      full("resources: [{ identifier: 'https://api.example' }, { identifier: 'https://api.example' }]"),
    ],
    [
      'refresh_token_idle_ttl_secs: must be at most refresh_token_absolute_ttl_secs',
      full('refresh_token_idle_ttl_secs: 10\nrefresh_token_absolute_ttl_secs: 9'),
    ],
    [
      'plugins: the grant authorization_code needs a login plugin',
      full().replace('  - use: plugins/login/password\n', ''),
    ],
    ['plugins: no plugin provides a grant', minimal()],
    [
      'scopes_supported: must name at least one scope',
      full()
        .replace(/scopes_supported: .*\n/, '')
        .replace('_alg: ES256', '_alg: ES256\naccess_token_signing_alg: EdDSA'),
    ],
    [
      'accounts: no login plugin is configured',
      minimal(
        "plugins: [{ use: plugins/grants/client-credentials }]\naccounts: [{ username: a, password: correct horse, sub: '1' }]",
      ),
    ],
    [
      'plugins[6]: client-auth/none provides the client authentication method none, which client-auth/none (plugins[3]) provides already',
      full('  - use: plugins/client-auth/none'),
    ],
  ])('%s', async (problem, text) => {
    expect(await problemsOf(text)).toEqual([problem])
  })

  it('an account without a client, a signer without a key and a lone refresh grant are allowed', async () => {
    const spare = full().replace(
      'signers: { local:',
      'signers: { spare: { use: signers/local, options: { directory: x } }, local:',
    )
    expect(await problemsOf(spare)).toEqual(['warning signers.spare: this signer has no key (line 4)'])
    expect(await problemsOf(full().replace(', offline_access', ''))).toEqual([
      'warning scopes_supported: without offline_access no refresh token is issued for requests with openid (line 2)',
    ])
    expect(await problemsOf(full().replace(', offline_access', '').replace('openid, ', ''))).toEqual([])
  })

  it('id_tokens need a key only with the scope openid', async () => {
    const written = 'id_token_signing_alg: ES256'
    const text = full().replace(written, 'id_token_signing_alg: EdDSA\naccess_token_signing_alg: ES256')
    expect(await problemsOf(text)).toEqual([
      'id_token_signing_alg: there is no key for EdDSA with the purpose id_token',
    ])
    expect(await problemsOf(text.replace('[openid, ', '['))).toEqual([])
  })

  it('warns about claims that are never released because of their name or type', async () => {
    const text = full(`claims:
  roles: { from: groups, in: [access_token], for: [c, 'https://api.example', 'https://ap.example', desk, 'https://own.example', 'https://default.example', 'https://client.example'] }
  idle: { value: 1 }
  staff: {}
resources: [{ identifier: 'https://api.example' }]
default_audience: https://default.example
${client("allowed_audiences: ['https://own.example']").replace(/ }\]$/, ' }, { client_id: https://client.example, client_secret: a-secret-of-more-than-256-bits-for-tests, grant_types: [client_credentials] }]')}
accounts: [{ username: a, password: correct horse, sub: '1', claims: { name: A, groups: [], roles: [], 'email#de': x, updated_at: '2026' } }]
`).replace('offline_access]', 'offline_access, { name: staff, claims: [staff] }]')
    expect(await problemsOf(text)).toEqual([
      expect.stringMatching(/^warning claims\.idle: is released nowhere: write `in`, or name it in a scope \(line/),
      expect.stringMatching(
        /^warning accounts\[0\]\.claims\.roles: no scope and no rule of `claims` releases this claim/,
      ),
      expect.stringMatching(/^warning accounts\[0\]\.claims\.updated_at: must be a number/),
      expect.stringMatching(
        /^warning claims\.roles\.for\[2\]: is no resource of this file, and no client in it has it/,
      ),
    ])
  })

  it('does not warn about a claim that pages show', async () => {
    const text = full("accounts: [{ username: a, password: correct horse, sub: '1', claims: { name: A } }]")
    expect(await problemsOf(text.replace('[openid, profile, email, ', '[openid, '))).toEqual([])
  })

  it.each([
    ['no RSA key', full().replace('alg: RS256', 'alg: ES256')],
    ['an RS256 key for other purposes', full().replace('ref: r.pem', 'ref: r.pem, purposes: [access_token, userinfo]')],
  ])('F1 sign-ins with %s are a warning', async (_name, text) => {
    expect(await problemsOf(text)).toEqual([expect.stringMatching(/^warning keys: no key signs ID tokens with RS256/)])
    expect(await problemsOf(text.replace('  - use: plugins/grants/authorization-code\n', ''))).toEqual([])
    const device = text.replace('grants/authorization-code', 'grants/device-code')
    expect(await problemsOf(device)).toEqual([expect.stringMatching(/^warning keys: /)])
    expect(await problemsOf(device.replace('[openid, ', '['))).toEqual([])
  })

  const account = (password: string) => full(`accounts: [{ username: alice.adams, password: '${password}', sub: '1' }]`)

  it.each([
    '1',
    'short77',
    'ALICE.adams',
    'aaaaaaaa',
    '12345678',
    '98765432109876',
    'abcdefghij',
    'a\u0301a\u0301a\u0301a\u0301',
    'x'.repeat(1025),
  ])('CA31 an account of the configuration may not have the password %.20s', async (password) => {
    expect(await problemsOf(account(password))).toEqual([expect.stringMatching(/^accounts\[0\]\.password: must /)])
  })

  it.each([
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['10.0.0.0/7', '10.0.0.0/8'],
    ['172.16.0.0/12', '172.16.0.0/12'],
    ['172.20.1.1/12', '172.16.0.0/12'],
    ['192.168.0.0/16', '192.168.0.0/16'],
    ['0.0.0.0/0', '10.0.0.0/8'],
    ['128.0.0.0/1', '172.16.0.0/12'],
    ['fc00::/7', 'fd00::/8'],
    ['fd00::/8', 'fd00::/8'],
    ['::/0', 'fd00::/8'],
  ])('HX10 trusted_proxies with %s is a warning', async (network, whole) => {
    expect(await problemsOf(full(`trusted_proxies: [unix, '${network}']\n`))).toEqual([
      expect.stringContaining(`warning trusted_proxies[1]: contains all of ${whole}: `),
    ])
  })

  it('HX10 trusted_proxies with parts of private networks gives no warning', async () => {
    const parts = ['unix', '10.244.7.0/28', '10.0.0.0/9', '172.30.30.0/24', '192.168.1.0/24', 'fd12:3456:789a::/48']
    const others = ['127.0.0.0/8', '198.51.100.0/24', '2001:db8::/32', '::1/128']
    expect(await problemsOf(full(`trusted_proxies: ${JSON.stringify([...parts, ...others])}\n`))).toEqual([])
  })

  it('CA31 a password of 8 to 11 characters gives a warning, a longer one none, whatever its characters', async () => {
    expect(await problemsOf(account('xkcd 936'))).toEqual([
      expect.stringMatching(/^warning accounts\[0\]\.password: has fewer/),
    ])
    expect(await problemsOf(account('staple horse'))).toEqual([])
    expect(await problemsOf(account('🐎🔋🧷✅🐎🔋🧷🐎🔋🧷✅🐎'))).toEqual([])
  })

  it('CA30 a short client_secret is a problem, one of 16 to 31 characters a warning', async () => {
    const secretOf = (length: number) =>
      full(`clients: [{ client_id: c, client_secret: ${'s'.repeat(length)}, grant_types: [client_credentials] }]`)
    expect(await problemsOf(secretOf(15))).toEqual([
      expect.stringMatching(/^clients\[0\]\.client_secret: must be 16 to 1024/),
    ])
    expect(await problemsOf(secretOf(31))).toEqual([
      expect.stringMatching(/^warning clients\[0\]\.client_secret: should /),
    ])
    expect(await problemsOf(secretOf(32))).toEqual([])
  })

  it('an invalid section causes no follow-up problems', async () => {
    expect(
      await problemsOf(
        full(client('token_endpoint_auth_method: client_secret_post')).replace('alg: ES256, ', 'alg: ES265, '),
      ),
    ).toEqual([expect.stringMatching(/^keys\[0\]\.alg: .*did you mean `ES256`/)])
    expect(await problemsOf(full(client('scope: openid')).replace('password\n', 'pasword\n'))).toEqual([
      'plugins[5].use: unknown; did you mean `plugins/login/password`?',
    ])
    expect(await problemsOf(full(client('scope: openid')).replace('[openid, ', "['open id', "))).toEqual([
      expect.stringMatching(/^scopes_supported\[0\]: /),
    ])
  })

  it('an unset variable is one problem, without a second one from the module', async () => {
    const hsm = '{ use: signers/pkcs11, options: { module: /hsm.so, token: t, pin: { $env: NONE } } }'
    expect(await problemsOf(full('').replace(/^signers:.*/m, `signers: { local: ${hsm} }`))).toEqual([
      'signers.local.options.pin: the environment variable NONE is not set',
    ])
  })

  it('a client’s mistakes are reported beneath its place in the list', async () => {
    expect(
      await problemsOf(
        full("clients: [{ client_id: c, redirect_uris: ['https://c.example/#x'], client_secret: { $env: NONE } }, {}]"),
      ),
    ).toEqual([
      'clients[0].client_secret: the environment variable NONE is not set',
      'clients[0].redirect_uris[0]: must have no fragment (RFC 6749 §3.1.2)',
      'clients[1].client_id: is required',
      'clients[1].redirect_uris: is required for the grant authorization_code',
      'clients[1].client_secret: is required without a token_endpoint_auth_method',
    ])
  })
})
