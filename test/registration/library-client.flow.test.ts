import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { importJWK } from 'jose'
import * as oidc from 'openid-client'
import { expect, it } from 'vitest'
import { signIn } from '../support/clients/authorization.js'
import { newAssertionKey, type AssertionKey } from '../support/clients/client-assertion.js'
import { manage, type Registered } from '../support/clients/registration.js'
import { redirectUri, subject } from '../support/server/server.js'
import { startTokenServer } from '../support/server/token-server.js'

const insecure = { execute: [oidc.allowInsecureRequests] }
const asked = { redirect_uris: [redirectUri], token_endpoint_auth_method: 'private_key_jwt' }

const proving = async ({ alg, kid, privateKey }: AssertionKey) => {
  const key = (await importJWK(privateKey.export({ format: 'jwk' }), alg)) as CryptoKey
  return oidc.PrivateKeyJwt({ key, kid })
}

it('openid-client registers, signs in, rotates its keys in both ways, and deletes its registration', async () => {
  let published = newAssertionKey()
  const keys = createServer((_, response) => response.end(JSON.stringify({ keys: [published.publicJwk] })))
  keys.listen(0, '127.0.0.1')
  await once(keys, 'listening')
  const jwks_uri = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/jwks`
  await using host = await startTokenServer({
    configure: (written) => ({
      ...written,
      registration: { mode: 'open' },
      outbound: { allow_private_addresses: true },
    }),
  })
  const issuer = new URL(host.server.issuer)
  /** The same registration with another key of its own. */
  const use = async (registered: Registered, key: AssertionKey) =>
    oidc.discovery(
      issuer,
      registered.client_id,
      { id_token_signed_response_alg: 'ES256' },
      await proving(key),
      insecure,
    )
  try {
    const client = await oidc.dynamicClientRegistration(
      issuer,
      { ...asked, jwks_uri },
      await proving(published),
      insecure,
    )
    const registered = client.clientMetadata() as unknown as Registered
    expect((await signIn(client, { scope: 'openid' })).claims()?.sub).toBe(subject)

    published = newAssertionKey()
    // A key that Signet does not know is looked for once a minute.
    host.later(61_000)
    expect((await signIn(await use(registered, published), { scope: 'openid' })).claims()?.sub).toBe(subject)

    const own = newAssertionKey()
    const { client_id } = registered
    const changed = await manage('PUT', registered, { ...asked, client_id, jwks: { keys: [own.publicJwk] } })
    expect(changed.status).toBe(200)
    const now = changed.body as unknown as Registered
    expect((await signIn(await use(now, own), { scope: 'openid' })).claims()?.sub).toBe(subject)
    await expect(signIn(await use(now, published), { scope: 'openid' })).rejects.toMatchObject({
      error: 'invalid_client',
    })

    expect((await manage('DELETE', now)).status).toBe(204)
    await expect(signIn(await use(now, own), { scope: 'openid' })).rejects.toThrow()
  } finally {
    keys.closeAllConnections()
    keys.close()
  }
})

it('openid-client registers, signs in and renews by its defaults', async () => {
  await using host = await startTokenServer({
    configure: (written) => ({ ...written, registration: { mode: 'open' } }),
  })
  const metadata = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] }
  const client = await oidc.dynamicClientRegistration(new URL(host.server.issuer), metadata, undefined, insecure)
  expect(client.clientMetadata().token_endpoint_auth_method).toBe('client_secret_basic')
  const tokens = await signIn(client)
  expect(tokens.claims()?.sub).toBe(subject)
  const methods = async () =>
    (await host.server.audit()).flatMap((line) =>
      line['event'] === 'token.issued' ? [line['client_auth_method']] : [],
    )
  expect((await oidc.refreshTokenGrant(client, tokens.refresh_token ?? '')).access_token).toEqual(expect.any(String))
  expect(await methods()).toEqual(['client_secret_post', 'client_secret_post'])
})
