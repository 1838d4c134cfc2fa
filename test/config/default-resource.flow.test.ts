import * as oidc from 'openid-client'
import { expect, it } from 'vitest'
import { discover, signIn } from '../support/clients/authorization.js'
import { startServer, webClient } from '../support/server/server.js'

it('a client may name the default audience at the token endpoint alone (RFC 8707 §2.2)', async () => {
  await using server = await startServer()
  const client = await discover(server.issuer, webClient.client_id, oidc.ClientSecretBasic(webClient.client_secret))
  const tokens = await signIn(client, {}, { resource: server.issuer })
  const refreshed = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? '', { resource: server.issuer })
  expect(refreshed.access_token).toBeTypeOf('string')
  await expect(signIn(client, {}, { resource: 'https://api.example' })).rejects.toMatchObject({
    error: 'invalid_target',
  })
})
