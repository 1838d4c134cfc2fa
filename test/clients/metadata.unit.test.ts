import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../config/secret.js'
import { parseClientMetadata, toMetadata } from '../../core/oauth/clients/client-metadata.js'

const scopes = ['openid', 'profile', 'offline_access']

const secret = 'a-secret-of-more-than-256-bits-for-tests'
const web = { client_id: 'portal', client_secret: secret, redirect_uris: ['https://portal.example/cb'] }
const native = {
  client_id: 'app',
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  redirect_uris: ['com.example.app:/cb'],
}

const problems = (metadata: unknown) => parseClientMetadata(metadata, scopes).problems
const paths = (metadata: unknown) => problems(metadata).map(({ path }) => path)

describe('client metadata', () => {
  it('fills in the defaults of RFC 7591 and keeps no secret', () => {
    const { client } = parseClientMetadata(web, scopes)
    expect(client).toEqual({
      client_id: 'portal',
      application_type: 'web',
      redirect_uris: ['https://portal.example/cb'],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      scope: scopes,
      client_secret_sha256: createHash('sha256').update(secret).digest('base64url'),
      allowed_audiences: [],
      security_profile: 'oauth2',
      metadata: {},
    })
  })

  it('reads again what it has written', () => {
    const jwks = { keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] }
    const everything = {
      ...{ client_id: 'all', client_name: 'All', redirect_uris: ['https://all.example/cb'], scope: 'openid profile' },
      ...{ token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'EdDSA', jwks },
      ...{ default_max_age: 60, require_auth_time: true, disabled: true, contacts: ['ops@all.example'] },
      ...{ allowed_audiences: ['https://api.example'], metadata: { branch: 7 } },
    }
    for (const metadata of [web, native, everything]) {
      const { client } = parseClientMetadata(metadata, scopes)
      const { client_secret } = metadata as { client_secret?: string }
      const written = { ...toMetadata(client!), ...(client_secret !== undefined && { client_secret }) }
      expect(JSON.stringify(toMetadata(client!))).not.toContain('sha256')
      expect(parseClientMetadata(written, [])).toMatchObject({ problems: [] })
      expect(parseClientMetadata(written, []).client).toEqual(client)
    }
  })

  it('accepts a secret that hides itself from prints', () => {
    const hidden = parseClientMetadata({ ...web, client_secret: new Secret(secret) }, scopes)
    expect(hidden.client).toEqual(parseClientMetadata(web, scopes).client)
  })

  it('a client without the code grant has no response type', () => {
    const { client } = parseClientMetadata(
      { client_id: 'job', client_secret: secret, grant_types: ['client_credentials'], scope: 'profile openid profile' },
      scopes,
    )
    expect(client).toMatchObject({ response_types: [], redirect_uris: [], scope: ['profile', 'openid'] })
  })

  it('a custom grant is a URN', () => {
    expect(paths({ ...web, grant_types: ['urn:bank:grant:loan', 'authorization_code'] })).toEqual([])
    expect(paths({ ...web, grant_types: ['a grant'] })).toEqual(['grant_types[0]'])
  })

  it.each([
    'https://portal.example/cb?x=1',
    'https://portal.example:8443/cb',
    'http://localhost:8080/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:9/cb',
  ])('a web client may be sent to %s', (uri) => {
    expect(problems({ ...web, redirect_uris: [uri] })).toEqual([])
  })

  it.each([
    'http://portal.example/cb',
    'http://localhost.evil.example/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://localhost@evil.example/cb',
    'https://user@portal.example/cb',
    'https://*.portal.example/cb',
    'https://portal.example/*',
    'https://portal.example/cb#x',
    'https://portal.example/cb#',
    'https:portal.example',
    'https:///portal.example',
    'https://portal.example\\@evil.example/',
    'https://portal.example/a b',
    ' https://portal.example/cb',
    'javascript:alert(1)',
    'JavaScript://portal.example/%0aalert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'vbscript:x',
    'com.example.app:/cb',
    '/cb',
    'portal.example/cb',
    '',
  ])('a web client may not be sent to %j', (uri) => {
    expect(paths({ ...web, redirect_uris: ['https://portal.example/cb', uri] })).toEqual(['redirect_uris[1]'])
  })

  it.each([
    ['com.example.app:/cb', true],
    ['http://127.0.0.1/cb', true],
    ['https://app.example/cb', true],
    ['myapp:/cb', false],
    ['javascript:alert(1)', false],
    ['http://app.example/cb', false],
  ])('a native client and %s: %s', (uri, allowed) => {
    expect(problems({ ...native, redirect_uris: [uri] })).toHaveLength(allowed ? 0 : 1)
  })

  it.each([
    [{ ...web, client_secret: undefined }, 'client_secret'],
    [{ ...native, client_secret: secret }, 'client_secret'],
    [{ ...native, grant_types: ['authorization_code', 'client_credentials'] }, 'grant_types'],
    [{ ...web, redirect_uris: [] }, 'redirect_uris'],
    [{ ...web, response_types: [] }, 'response_types'],
    [{ ...web, response_types: ['token'] }, 'response_types[0]'],
    [{ ...web, grant_types: ['client_credentials'], response_types: ['code'] }, 'response_types'],
    [{ ...web, token_endpoint_auth_method: 'client_secret_jwt' }, 'token_endpoint_auth_method'],
    [{ ...web, consent: 'never' }, 'consent'],
    [{ ...native, consent: 'implicit' }, 'consent'],
    [{ ...native, application_type: 'web', redirect_uris: ['http://localhost/cb'], consent: 'implicit' }, 'consent'],
    [{ ...web, id_token_signed_response_alg: 'HS256' }, 'id_token_signed_response_alg'],
    [{ ...web, id_token_signed_response_alg: 'none' }, 'id_token_signed_response_alg'],
    [{ ...web, userinfo_signed_response_alg: 'none' }, 'userinfo_signed_response_alg'],
    [{ ...web, logo_uri: 'javascript:alert(1)' }, 'logo_uri'],
    [{ ...web, policy_uri: 'data:text/html,x' }, 'policy_uri'],
    [{ ...web, logo_uri: 'http://client.example/logo.png' }, 'logo_uri'],
    [{ ...web, policy_uri: 'http://client.example/privacy#a' }, 'policy_uri'],
    [{ ...web, tos_uri: 'https://user@client.example/terms' }, 'tos_uri'],
    [{ ...web, scope: 'openid  profile' }, 'scope'],
    [{ ...web, scope: '' }, 'scope'],
    [{ ...web, subject_type: 'PAIRWISE' }, 'subject_type'],
    [{ ...web, default_max_age: -1 }, 'default_max_age'],
    [{ ...web, client_id: '' }, 'client_id'],
    [{ ...web, client_id: 7 }, 'client_id'],
    [{ ...web, client_id: 'a\u0000b' }, 'client_id'],
    [{ ...web, allowed_audiences: ['api'] }, 'allowed_audiences[0]'],
    [{ ...web, introspection_audiences: ['https://api.example#x'] }, 'introspection_audiences[0]'],
  ])('refuses %j', (metadata, path) => {
    expect(paths(metadata)).toEqual([path])
  })

  it('refuses members without effect, and misspelt names with a hint', () => {
    expect(problems({ ...web, frontchannel_logout_uri: 'https://x' })).toEqual([
      { path: 'frontchannel_logout_uri', message: 'not available in this version' },
    ])
    const { redirect_uris, ...rest } = web
    expect(problems({ ...rest, redirect_uri: redirect_uris })).toContainEqual({
      path: 'redirect_uri',
      message: 'unknown member; did you mean `redirect_uris`?',
    })
  })

  it('applies the rules of redirect URIs to post-logout URIs', () => {
    expect(problems({ ...web, post_logout_redirect_uris: ['https://a.example/out'] })).toEqual([])
    expect(
      problems({ ...web, policy_uri: 'https://a.example/legal#privacy', logo_uri: 'http://127.0.0.1/a.png' }),
    ).toEqual([])
    const wrong = ['http://a.example/', 'https://a.example/#x', 'javascript:alert(1)']
    expect(problems({ ...web, post_logout_redirect_uris: wrong }).map(({ path }) => path)).toEqual(
      wrong.map((_, index) => `post_logout_redirect_uris[${String(index)}]`),
    )
  })

  it('reports everything at once and repeats no value', () => {
    const all = problems({
      client_secret: 's3cret-that-nobody-else-knows',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['s3cret:x', 7],
      client_secrets: 's3cret',
    })
    expect(all.map(({ path }) => path)).toEqual(['client_id', 'redirect_uris[1]', 'client_secrets', 'client_secret'])
    expect(JSON.stringify(all)).not.toContain('s3cret')
  })

  it.each([
    [1, 1, 0],
    [15, 1, 0],
    [16, 0, 1],
    [31, 0, 1],
    [32, 0, 0],
    [1024, 0, 0],
    [1025, 1, 0],
  ])('CA30 a secret of %i characters: %i problems, %i warnings', (length, faults, advice) => {
    const parsed = parseClientMetadata({ ...web, client_secret: 'x'.repeat(length) }, scopes)
    expect(parsed.problems.map(({ path }) => path)).toEqual(Array(faults).fill('client_secret'))
    expect(parsed.warnings.map(({ path }) => path)).toEqual(Array(advice).fill('client_secret'))
  })

  it.each([[null], [undefined], ['portal'], [[]]])('refuses %j', (metadata) => {
    expect(parseClientMetadata(metadata, scopes).client).toBeUndefined()
  })

  const byTls = { ...web, client_secret: undefined, token_endpoint_auth_method: 'tls_client_auth' }
  it.each<[string, Record<string, unknown>, string[]]>([
    ['one subject', { tls_client_auth_san_dns: 'app.bank.example' }, []],
    ['none', {}, ['tls_client_auth_subject_dn']],
    ['two', { tls_client_auth_subject_dn: 'CN=a', tls_client_auth_san_ip: '::1' }, ['tls_client_auth_san_ip']],
    ['no name', { tls_client_auth_subject_dn: 'app' }, ['tls_client_auth_subject_dn']],
    ['a wildcard', { tls_client_auth_san_dns: '*.bank.example' }, ['tls_client_auth_san_dns']],
    ['no URI', { tls_client_auth_san_uri: 'app' }, ['tls_client_auth_san_uri']],
    ['no address', { tls_client_auth_san_ip: '10.0.0.0/8' }, ['tls_client_auth_san_ip']],
    ['no email', { tls_client_auth_san_email: 'app' }, ['tls_client_auth_san_email']],
  ])('tls_client_auth with %s', (_what, members, wrong) => {
    expect(paths({ ...byTls, ...members })).toEqual(wrong)
  })

  it('allows a certificate subject only with tls_client_auth, and requires keys for the other method', () => {
    expect(paths({ ...web, tls_client_auth_san_dns: 'app.bank.example' })).toEqual(['tls_client_auth_san_dns'])
    expect(paths({ ...byTls, token_endpoint_auth_method: 'self_signed_tls_client_auth' })).toEqual(['jwks'])
  })
})
