import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  accessType,
  delegate,
  gateway,
  grantType,
  idType,
  ledger,
  startExchangeServer,
  web,
  type ExchangeServer,
} from '../support/server/exchange-server.js'
import { api } from '../support/clients/clients.js'
import { discover } from '../support/clients/authorization.js'
import { subject } from '../support/server/server.js'

let host: ExchangeServer
let keys: ReturnType<typeof createRemoteJWKSet>

beforeAll(async () => {
  host = await startExchangeServer()
  keys = createRemoteJWKSet(new URL(`${host.server.issuer}/jwks.json`))
})
afterAll(() => host[Symbol.asyncDispose]())

const connect = (client: { readonly client_id: string; readonly client_secret: string }) =>
  discover(host.server.issuer, client.client_id, oidc.ClientSecretBasic(client.client_secret))

const claimsOf = async (token: string, audience: string) =>
  (await jwtVerify(token, keys, { issuer: host.server.issuer, audience, typ: 'at+jwt' })).payload

describe('token exchange through openid-client', () => {
  it('is advertised', async () => {
    expect((await connect(gateway)).serverMetadata().grant_types_supported).toContain(grantType)
  })

  it('gives a resource server a token for the next one, for the same person and no longer', async () => {
    const { access } = await host.signIn()
    const before = await claimsOf(access, api)
    const tokens = await oidc.genericGrantRequest(await connect(gateway), grantType, {
      subject_token: access,
      subject_token_type: accessType,
      resource: ledger,
      scope: 'read',
    })
    expect(tokens).toMatchObject({ issued_token_type: accessType, token_type: 'bearer', scope: 'read' })
    const after = await claimsOf(tokens.access_token, ledger)
    expect(after).toMatchObject({ sub: subject, client_id: 'gateway', scope: 'read', auth_time: before['auth_time'] })
    expect(after.exp).toBeLessThanOrEqual(before.exp ?? 0)
    expect(after['act']).toBeUndefined()
  })

  it('lets a client act for a person, and tells who acted before', async () => {
    const { access } = await host.signIn()
    const config = await connect(delegate)
    const own = await oidc.clientCredentialsGrant(config, { scope: 'read' })
    const actor = { actor_token: own.access_token, actor_token_type: accessType }
    const first = await oidc.genericGrantRequest(config, grantType, {
      subject_token: access,
      subject_token_type: accessType,
      ...actor,
    })
    const act = { sub: 'delegate', client_id: 'delegate' }
    expect((await claimsOf(first.access_token, api))['act']).toEqual(act)
    const second = await oidc.genericGrantRequest(config, grantType, {
      subject_token: first.access_token,
      subject_token_type: accessType,
      ...actor,
    })
    expect((await claimsOf(second.access_token, api))['act']).toEqual({ ...act, act })
    const trail = (await host.server.audit()).filter((line) => line['grant_type'] === grantType)
    expect(trail.map(({ event }) => event)).toContain('token.issued')
  })

  it('takes an id_token of the client for what the client may have', async () => {
    const { id } = await host.signIn()
    const config = await connect(web)
    const form = { subject_token: id, subject_token_type: idType, audience: api, scope: 'read' }
    const tokens = await oidc.genericGrantRequest(config, grantType, form)
    expect(await claimsOf(tokens.access_token, api)).toMatchObject({ sub: subject, scope: 'read', client_id: 'web' })
    const wider = oidc.genericGrantRequest(config, grantType, { ...form, scope: 'write' })
    await expect(wider).rejects.toMatchObject({ error: 'invalid_scope' })
  })
})

it('token exchange through oauth4webapi', async () => {
  const { access } = await host.signIn()
  const allowed = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(host.server.issuer)
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, allowed))
  const client = { client_id: gateway.client_id }
  const response = await oauth.genericTokenEndpointRequest(
    server,
    client,
    oauth.ClientSecretBasic(gateway.client_secret),
    grantType,
    { subject_token: access, subject_token_type: accessType },
    allowed,
  )
  const tokens = await oauth.processGenericTokenEndpointResponse(server, client, response)
  expect(tokens['issued_token_type']).toBe(accessType)
  expect(await claimsOf(tokens.access_token, api)).toMatchObject({ sub: subject, client_id: 'gateway' })
})
