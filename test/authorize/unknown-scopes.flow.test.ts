import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { discover, signIn } from '../support/clients/authorization.js'
import { deviceGrant, personAt, tvClient, withDevices } from '../support/clients/device.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { person, startServer, webClient, type TestServer } from '../support/server/server.js'

const asWeb = oidc.ClientSecretBasic(webClient.client_secret)
const denied = async ({ issuer }: TestServer, scope: string): Promise<string | null> => {
  const { headers } = await fetch(authorizeUrl(issuer, { scope }), { redirect: 'manual' })
  return new URL(headers.get('location') ?? '', issuer).searchParams.get('error')
}

describe('a scope that the deployment does not have', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ configure: withDevices })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  it('is ignored at /authorize, and the response lists the granted scope', async () => {
    const client = await discover(server.issuer, 'web', asWeb)
    const tokens = await signIn(client, { scope: 'openid groups read roles constructor' })
    expect(tokens.scope).toBe('openid read')
    const granted = (await server.audit()).find(({ event }) => event === 'authorization.granted')
    expect(granted).toMatchObject({ scope: 'openid read' })
  })

  it('is ignored at /device_authorization, and the response lists the granted scope', async () => {
    const client = await discover(server.issuer, tvClient.client_id, oidc.None())
    const device = await oidc.initiateDeviceAuthorization(client, { scope: 'openid groups' })
    await personAt(new UserAgent(), server.issuer).answer(person, device.user_code)
    const tokens = await oidc.genericGrantRequest(client, deviceGrant, { device_code: device.device_code })
    expect(tokens.scope).toBe('openid')
  })

  it('does not bypass the registration of the client, and cannot be granted alone', async () => {
    expect(await denied(server, 'groups roles')).toBe('invalid_scope')
    const client = await discover(server.issuer, tvClient.client_id, oidc.None())
    await expect(oidc.initiateDeviceAuthorization(client, { scope: 'openid groups write' })).rejects.toMatchObject({
      error: 'invalid_scope',
    })
  })
})

it('a deployment can refuse unknown scopes', async () => {
  const configure = (written: Record<string, unknown>) => ({ ...written, unknown_scopes: 'refuse' })
  await using server = await startServer({ configure })
  expect(await denied(server, 'openid groups')).toBe('invalid_scope')
  expect(await denied(server, 'openid read')).toBeNull()
})
