import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cibaGrant } from '../support/clients/ciba.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../support/clients/client-assertion.js'
import { deviceGrant } from '../support/clients/device.js'
import { mtlsFetch } from '../support/clients/mtls-fetch.js'
import { createCertificateAuthority } from '../support/forge/certificates.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { startCibaServer, type CibaServer } from '../support/server/ciba-server.js'
import { redirectUri } from '../support/server/server.js'
import { challenge } from '../support/clients/fapi-client.js'

type Json = Record<string, unknown>

const key = newAssertionKey()
const signing = {
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['authorization_code', 'client_credentials', deviceGrant, cibaGrant],
  redirect_uris: [redirectUri],
  scope: 'openid profile read',
  jwks: { keys: [key.publicJwk] },
}

/** Each endpoint that authenticates clients, with a request that is right. */
const endpoints: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/token': { grant_type: 'client_credentials', scope: 'read' },
  '/par': {
    ...{ response_type: 'code', redirect_uri: redirectUri, scope: 'openid' },
    ...{ code_challenge: challenge, code_challenge_method: 'S256' },
  },
  '/bc-authorize': { scope: 'openid', login_hint: 'alice' },
  '/device_authorization': { scope: 'openid' },
  '/introspect': { token: 'x' },
  '/revoke': { token: 'x' },
}
const paths = Object.keys(endpoints)

let server: CibaServer
let alias: string
beforeAll(async () => {
  const root = await createCertificateAuthority()
  const port = await freePort()
  alias = `https://127.0.0.1:${String(port)}`
  server = await startCibaServer({}, (written) => ({
    ...written,
    plugins: [...(written['plugins'] as Json[]), { use: 'plugins/grants/device-code' }],
    mtls: { listen: { host: '127.0.0.1', port, tls: testCertificate }, base_url: alias, trust_anchors: [root.pem] },
    clients: [
      { ...signing, client_id: 'signer' },
      { ...signing, client_id: 'bank', security_profile: 'fapi2', dpop_bound_access_tokens: true },
    ],
  }))
})
afterAll(() => server[Symbol.asyncDispose]())

/** The status and the error of a request to `path`, here or at the alias, with an assertion for `aud`. */
const ask = async (path: string, aud: unknown, at = server.issuer, client = 'signer') => {
  const claims = assertionClaims(client, aud, server.host.now())
  const client_assertion = signAssertion(key, { alg: key.alg, kid: key.kid }, claims)
  const body = new URLSearchParams({ ...endpoints[path], client_assertion_type: assertionType, client_assertion })
  const response = await (at === alias ? mtlsFetch() : fetch)(at + path, { method: 'POST', body })
  const text = await response.text()
  return { status: response.status, error: text === '' ? undefined : (JSON.parse(text) as Json)['error'] }
}
const refused = { status: 401, error: 'invalid_client' }

describe.each(paths)('an assertion that is sent to %s', (path) => {
  const other = path === '/revoke' ? '/introspect' : '/revoke'

  it('names the issuer, the token endpoint or this endpoint, under either name of its host', async () => {
    const { issuer } = server
    const right = [issuer, ...[issuer, alias].flatMap((base) => [`${base}/token`, base + path])]
    for (const at of [issuer, alias]) {
      for (const aud of [...right, [issuer, issuer + path], right])
        expect(await ask(path, aud, at), `${String(aud)} at ${at}`).not.toMatchObject(refused)
    }
  })

  it('CA07 names no other endpoint, and no additional audience', async () => {
    const { issuer } = server
    for (const aud of [
      ...[issuer + other, alias + other, alias, `${alias}/`, `${issuer + path}/`, `${issuer + path}?x=1`],
      ...[(issuer + path).toUpperCase(), path, `https://other.example${path}`],
      ...[
        [issuer + path, `https://other.example${path}`],
        [issuer, alias],
      ],
    ])
      expect(await ask(path, aud), String(aud)).toEqual(refused)
  })

  it('FA04 of a fapi2 client names the issuer alone, as one string', async () => {
    const { issuer } = server
    for (const aud of [`${issuer}/token`, issuer + path, alias + path, [issuer]])
      expect(await ask(path, aud, issuer, 'bank'), String(aud)).toEqual(refused)
    expect((await ask(path, issuer, issuer, 'bank')).status).not.toBe(401)
  })
})

it('every endpoint that announces client authentication methods is tested here', async () => {
  const metadata = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as Json
  const aliases = metadata['mtls_endpoint_aliases'] as Record<string, string>
  const own = Object.values(aliases).map((url) => url.slice(alias.length))
  // Whoever has the token may ask there.
  const byToken = ['/userinfo', '/approvals', '/register', '/challenge', '/enrol', '/enrol/complete', '/reissue']
  expect(own.filter((path) => !byToken.includes(path)).toSorted()).toEqual(paths.toSorted())
})
