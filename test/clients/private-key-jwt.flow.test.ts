import { generateKeyPair, exportJWK } from 'jose'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { discover, signIn } from '../support/clients/authorization.js'
import { redirectUri, startServer, subject, type TestServer } from '../support/server/server.js'

const algorithms = ['ES256', 'EdDSA', 'Ed25519', 'RS256', 'PS256', 'ES384'] as const

describe.each(algorithms)('private_key_jwt with %s', (alg) => {
  let server: TestServer
  let key: oidc.PrivateKey

  beforeAll(async () => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    const kid = `client-${alg}`
    key = { key: privateKey, kid }
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }] }
    server = await startServer({
      configure: (configuration) => ({
        ...configuration,
        clients: [
          {
            client_id: 'signer',
            token_endpoint_auth_method: 'private_key_jwt',
            token_endpoint_auth_signing_alg: alg,
            jwks,
            redirect_uris: [redirectUri],
            grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
          },
        ],
      }),
    })
  })
  afterAll(async () => server[Symbol.asyncDispose]())

  it('openid-client: client credentials, the code flow and a refresh', async () => {
    const client = await discover(server.issuer, 'signer', oidc.PrivateKeyJwt(key))
    const machine = await oidc.clientCredentialsGrant(client, { scope: 'read' })
    expect(machine).toMatchObject({ token_type: 'bearer', scope: 'read' })

    const tokens = await signIn(client)
    expect(tokens.claims()).toMatchObject({ sub: subject, aud: 'signer' })
    const refreshed = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? '')
    expect(refreshed.claims()).toMatchObject({ sub: subject })

    const issued = (await server.audit()).filter(({ event }) => event === 'token.issued')
    expect(issued.map(({ client_auth_method }) => client_auth_method)).toEqual(Array(3).fill('private_key_jwt'))
  })

  it('oauth4webapi: client credentials, with either audience or both, for an hour, and with fractions of seconds', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(server.issuer)
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
    expect(as.token_endpoint_auth_methods_supported).toContain('private_key_jwt')
    expect(as.token_endpoint_auth_signing_alg_values_supported).toContain(alg)
    const client = { client_id: 'signer' }
    const now = Date.now() / 1000
    const others = [{ exp: now + 3599.5 }, { iat: now - 0.25, nbf: now - 0.25, exp: now + 600.75 }]
    const audiences = [as.issuer, as.token_endpoint, [as.issuer, as.token_endpoint]]
    for (const claims of [...audiences.map((aud) => ({ aud })), ...others]) {
      const authentication = oauth.PrivateKeyJwt(key, {
        [oauth.modifyAssertion]: (_header: unknown, payload: object) => void Object.assign(payload, claims),
      })
      const response = await oauth.clientCredentialsGrantRequest(
        as,
        client,
        authentication,
        new URLSearchParams({ scope: 'write' }),
        insecure,
      )
      const token = await oauth.processClientCredentialsResponse(as, client, response)
      expect(token.scope).toBe('write')
    }
  })
})

it('is not advertised, and cannot be registered, without the plugin', async () => {
  const without = (configuration: Record<string, unknown>) => ({
    ...configuration,
    plugins: (configuration['plugins'] as { use: string }[]).filter(({ use }) => !use.endsWith('private-key-jwt')),
  })
  await using server = await startServer({ configure: without })
  const discovery = await fetch(`${server.issuer}/.well-known/openid-configuration`)
  const metadata = (await discovery.json()) as Record<string, readonly string[]>
  expect(metadata['token_endpoint_auth_methods_supported']).not.toContain('private_key_jwt')
  expect(metadata).not.toHaveProperty('token_endpoint_auth_signing_alg_values_supported')
  const client = {
    client_id: 'signer',
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: 'https://client.example/jwks.json',
    grant_types: ['client_credentials'],
  }
  await expect(startServer({ configure: (written) => without({ ...written, clients: [client] }) })).rejects.toThrow(
    'no plugin provides this method',
  )
})
