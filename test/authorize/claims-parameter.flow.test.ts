import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collectionsOf } from '../support/forge/mint.js'
import { startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { discover, signIn } from '../support/clients/authorization.js'
import { person, subject, webClient } from '../support/server/server.js'

const claims = {
  name: 'Alice Adams',
  'name#de': 'Alice Aberle',
  email: 'alice@bank.example',
  phone_number: '+1 555',
  risk_score: 97,
  department: 'treasury',
}
const little = { ...webClient, client_id: 'little', scope: 'openid offline_access' }
const more = { ...webClient, client_id: 'more', scope: 'openid profile email staff offline_access' }

const staff = { name: 'staff', title: 'Your place in the bank', claims: ['department'] }

let host: TokenServer
beforeAll(async () => {
  host = await startTokenServer({
    configure: (written) => ({
      ...written,
      scopes_supported: ['openid', 'profile', 'email', 'offline_access', staff],
      clients: [little, more],
      accounts: [{ ...person, sub: subject, claims }],
    }),
  })
})
afterAll(() => host[Symbol.asyncDispose]())

const names = ['name', 'name#de', 'email', 'phone_number', 'risk_score', 'department', 'toString']
const everything = Object.fromEntries(names.map((name) => [name, null]))
const requested = { id_token: { ...everything, acr: null, auth_time: null }, userinfo: { ...everything, sub: null } }

const ask = async ({ client_id, client_secret }: typeof little, scope = 'openid') => {
  const client = await discover(host.server.issuer, client_id, oidc.ClientSecretBasic(client_secret))
  const tokens = await signIn(client, { scope, claims: JSON.stringify(requested), prompt: 'consent' })
  const userInfo = await oidc.fetchUserInfo(client, tokens.access_token, subject)
  return { client, tokens, userInfo, inIdToken: tokens.claims() as unknown as Record<string, unknown> }
}
const personal = (given: object): readonly string[] => Object.keys(given).filter((name) => Object.hasOwn(claims, name))

describe('the parameter claims', () => {
  it('TK01 releases nothing to a client beyond its registered scope', async () => {
    const { userInfo, inIdToken } = await ask(little)
    expect(userInfo).toEqual({ sub: subject })
    expect(personal(inIdToken)).toEqual([])
    expect(inIdToken['auth_time']).toBeTypeOf('number')
  })

  it('TK02 releases only claims that belong to a scope of the client', async () => {
    const { userInfo, inIdToken } = await ask(more)
    for (const given of [userInfo, inIdToken])
      expect(personal(given).toSorted()).toEqual(['department', 'email', 'name', 'name#de'])
    const document = await fetch(`${host.server.issuer}/.well-known/openid-configuration`)
    const { claims_supported: supported } = (await document.json()) as { claims_supported: string[] }
    expect(supported).toEqual(expect.arrayContaining(['sub', 'name', 'email', 'department']))
    expect(supported).not.toContain('risk_score')
    // No scope stands for it.
    expect(supported).not.toContain('phone_number')
  })

  it('TK03 claims that are not released are neither asked for nor remembered', async () => {
    const remembered = await collectionsOf(host.store).consents.list(undefined, 100)
    const of = (id: string) => remembered.find(({ record }) => record.clientId === id)?.record.claims
    expect(of('little')).toEqual([])
    expect(of('more')?.toSorted()).toEqual(['department', 'email', 'name', 'name#de'])
  })

  it('TK01 an earlier grant releases no more than the current registration allows', async () => {
    const grant = { clientId: 'little', scope: ['openid', 'offline_access'], requestedClaims: requested }
    const { token } = await host.mint.refreshToken(grant)
    const { status, body } = await host.refresh(token, {}, little)
    expect(status).toBe(200)
    expect((await host.userinfo(String(body['access_token']))).body).toEqual({ sub: subject })
    const payload = String(body['id_token']).split('.')[1] ?? ''
    expect(personal(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object)).toEqual([])
  })
})
