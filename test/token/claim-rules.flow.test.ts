import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { discover, signIn } from '../support/clients/authorization.js'
import { api, basic } from '../support/clients/clients.js'
import { deviceGrant, personAt, tvClient, withDevices } from '../support/clients/device.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { decode } from '../support/forge/forge.js'
import {
  accessType,
  gateway,
  idType,
  ledger,
  startExchangeServer,
  web,
  withExchange,
  type ExchangeServer,
} from '../support/server/exchange-server.js'
import { person, serviceClient, subject } from '../support/server/server.js'

const rolesName = 'https://bank.example/roles'
const roles = ['bank-teller', 'bank-vault']
const claims = { name: 'Alice Adams', groups: [...roles, 'choir'], department: 'treasury', number: 7, secret: 'x' }
/** Asks `/userinfo` for nothing. */
const board = { ...web, client_id: 'board', include_claims_in_id_token: true }
const desk = { ...web, client_id: 'desk', scope: 'openid staff offline_access' }

let host: ExchangeServer
beforeAll(async () => {
  host = await startExchangeServer((written) => {
    const whole = withDevices(withExchange(written))
    return {
      ...whole,
      scopes_supported: [...(written['scopes_supported'] as string[]), { name: 'staff', claims: ['department'] }],
      claims: {
        [rolesName]: { from: 'groups', only: ['bank-*'], in: ['access_token', 'id_token'], for: ['desk', api] },
        tenant: { value: { id: 'acme' }, in: ['access_token'] },
        department: { in: ['access_token'] },
        employee_number: { from: 'number', in: ['userinfo'], for: ['desk'] },
      },
      clients: [...(whole['clients'] as object[]), desk, board],
      accounts: [{ ...person, sub: subject, claims }],
    }
  })
})
afterAll(() => host[Symbol.asyncDispose]())

const tokensOf = ({ body }: { readonly body: Record<string, unknown> }) => ({
  access: decode(String(body['access_token']), 1),
  id: decode(String(body['id_token']), 1),
})
const tenant = { id: 'acme' }

describe('the claims of the configuration', () => {
  it('put a role into the access token of a resource server, at every refresh, and nowhere else', async () => {
    const client = await discover(host.server.issuer, 'web', oidc.ClientSecretBasic(web.client_secret))
    const first = await signIn(client, { resource: api, prompt: 'consent' })
    const again = await oidc.refreshTokenGrant(client, first.refresh_token ?? '', { resource: api })
    const keys = createRemoteJWKSet(new URL(`${host.server.issuer}/jwks.json`))
    for (const { access_token } of [first, again]) {
      const { payload } = await jwtVerify(access_token, keys, { issuer: host.server.issuer, audience: api })
      expect(payload).toMatchObject({ sub: subject, [rolesName]: roles, tenant })
      for (const name of ['groups', 'department', 'employee_number', 'secret']) expect(payload).not.toHaveProperty(name)
    }
    expect(first.claims()).not.toHaveProperty(rolesName)
  })

  it('keep a claim for one resource server out of a token that others read too', async () => {
    for (const resource of [[api, ledger], [ledger], []]) {
      const { code } = await host.mint.code({ resource })
      expect(tokensOf(await host.redeem(code)).access).not.toHaveProperty(rolesName)
    }
    const { code } = await host.mint.code({ clientId: 'desk', resource: [api, ledger], scope: ['openid'] })
    const { access, id } = tokensOf(await host.redeem(code, {}, desk))
    expect([access[rolesName], id[rolesName]]).toEqual([roles, roles])
  })

  it('give a claim of a scope where that scope was granted', async () => {
    const given = async (scope: readonly string[]) => {
      const { code } = await host.mint.code({ clientId: 'desk', scope: ['openid', ...scope] })
      const answer = await host.redeem(code, {}, desk)
      const { body } = await host.userinfo(String(answer.body['access_token']))
      return [tokensOf(answer).access['department'], body]
    }
    expect(await given(['staff'])).toEqual(['treasury', { sub: subject, department: 'treasury', employee_number: 7 }])
    expect(await given([])).toEqual([undefined, { sub: subject, employee_number: 7 }])
    const { body } = await host.redeem((await host.mint.code({ scope: ['openid'] })).code)
    expect((await host.userinfo(String(body['access_token']))).body).toEqual({ sub: subject })
  })

  it('of the granted scopes are in the id_token of a client that registered so, and in no other', async () => {
    const given = async (client: typeof web, scope: readonly string[]) => {
      const { code } = await host.mint.code({
        clientId: client.client_id,
        scope: ['openid', 'offline_access', ...scope],
      })
      const { body } = await host.redeem(code, {}, client)
      const refreshed = await host.refresh(String(body['refresh_token']), {}, client)
      return [body, refreshed.body].map((issued) => {
        const { name, department, groups } = decode(String(issued['id_token']), 1)
        return [name, department, groups]
      })
    }
    const alice = ['Alice Adams', undefined, undefined]
    const nothing = [undefined, undefined, undefined]
    expect(await given(board, ['profile'])).toEqual([alice, alice])
    expect(await given(board, ['read'])).toEqual([nothing, nothing])
    expect(await given(web, ['profile'])).toEqual([nothing, nothing])
  })

  it('reach the tokens of devices', async () => {
    const client = await discover(host.server.issuer, tvClient.client_id, oidc.None())
    const device = await oidc.initiateDeviceAuthorization(client, { scope: 'openid' })
    await personAt(new UserAgent(), host.server.issuer).answer(person, device.user_code)
    const tokens = await oidc.genericGrantRequest(client, deviceGrant, { device_code: device.device_code })
    expect(decode(tokens.access_token, 1)).toMatchObject({ sub: subject, tenant })
  })

  it('follow the resource of a token exchange', async () => {
    const { access, id } = await host.signIn()
    const exchange = async (client: typeof gateway, subject_token: string, type: string, resource: string) =>
      decode(
        String(
          (await host.exchange(client, { subject_token, subject_token_type: type, resource })).body['access_token'],
        ),
        1,
      )
    expect(decode(access, 1)[rolesName]).toEqual(roles)
    expect(await exchange(gateway, access, accessType, ledger)).not.toHaveProperty(rolesName)
    expect((await exchange(gateway, access, accessType, api))[rolesName]).toEqual(roles)
    expect((await exchange({ ...gateway, ...web }, id, idType, api))[rolesName]).toEqual(roles)
  })

  it('give machines what is the same for everyone', async () => {
    const form = { grant_type: 'client_credentials' }
    const { body } = await host.token(form, { authorization: basic(serviceClient) })
    const token = decode(String(body['access_token']), 1)
    expect(token).toMatchObject({ sub: 'service', tenant })
    expect(token).not.toHaveProperty(rolesName)
  })

  it('are in the discovery document where clients can see them', async () => {
    const document = (await (await fetch(`${host.server.issuer}/.well-known/openid-configuration`)).json()) as object
    const { claims_supported: supported } = document as { claims_supported: string[] }
    expect(supported).toEqual(expect.arrayContaining(['sub', 'name', 'email', 'department', 'employee_number']))
    expect(supported).toContain(rolesName)
    for (const name of ['tenant', 'groups', 'secret', 'phone_number']) expect(supported).not.toContain(name)
  })
})
