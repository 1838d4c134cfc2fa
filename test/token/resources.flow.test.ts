import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decode } from '../support/forge/forge.js'
import { discover } from '../support/clients/authorization.js'
import {
  person,
  redirectUri,
  serviceClient,
  startServer,
  webClient,
  type TestServer,
} from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

const payments = 'https://payments.bank.example'
const ledger = 'https://ledger.bank.example/v1'
const reports = 'urn:bank:reports'
const plain = 'https://plain.bank.example'
const all = [payments, ledger, reports, plain]

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    configure: (written) => ({
      ...written,
      access_token_ttl_secs: 500,
      resources: [
        { identifier: payments, scope: 'read write', access_token_ttl_secs: 120 },
        { identifier: ledger, scope: 'read', access_token_ttl_secs: 900 },
        { identifier: reports, scope: '' },
      ],
      clients: [
        { ...webClient, allowed_audiences: all },
        { ...serviceClient, allowed_audiences: all, scope: 'read write' },
        { ...serviceClient, client_id: 'narrow', allowed_audiences: [plain], scope: 'write' },
        { ...serviceClient, client_id: 'writer', allowed_audiences: [ledger], scope: 'write' },
      ],
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const connect = (clientId: string, secret: string) => discover(server.issuer, clientId, oidc.ClientSecretBasic(secret))

type Parameters = readonly (readonly [string, string])[]
const asking = (...resources: readonly string[]): Parameters => resources.map((name) => ['resource', name])
const parameters = (list: Parameters) => new URLSearchParams(list.map(([name, value]) => [name, value]))

interface Told {
  readonly aud: unknown
  readonly scope: unknown
  readonly ttl: number
}

/** What the token says, and that the answer says the same. */
const readAnswer = (tokens: oidc.TokenEndpointResponse): Told => {
  const { aud, scope, iat, exp } = decode(tokens.access_token, 1)
  const ttl = Number(exp) - Number(iat)
  expect({ scope: tokens.scope, ttl: tokens.expires_in }).toEqual({ scope, ttl })
  return { aud, scope, ttl }
}

const scope = 'openid offline_access email read write'

describe('resources of an authorization', () => {
  let client: oidc.Configuration
  beforeAll(async () => {
    client = await connect('web', webClient.client_secret)
  })

  const authorize = async (resources: Parameters) => {
    const verifier = oidc.randomPKCECodeVerifier()
    const url = oidc.buildAuthorizationUrl(
      client,
      parameters([
        ['redirect_uri', redirectUri],
        ['scope', scope],
        ['code_challenge', await oidc.calculatePKCECodeChallenge(verifier)],
        ['code_challenge_method', 'S256'],
        ['state', 'a state'],
        ...resources,
      ]),
    )
    const callback = await new UserAgent().authorize(url, person)
    const redeem = (at: Parameters = []) =>
      oidc.authorizationCodeGrant(
        client,
        callback,
        { pkceCodeVerifier: verifier, expectedState: 'a state' },
        parameters(at),
      )
    return { callback, redeem }
  }

  it('several at /authorize: the token is for all of them, for the shortest of their times', async () => {
    const { redeem } = await authorize(asking(payments, ledger, payments))
    const tokens = await redeem()
    expect(readAnswer(tokens)).toEqual({
      aud: [payments, ledger],
      scope: 'openid offline_access read write',
      ttl: 120,
    })
    expect(decode(tokens.id_token ?? '', 1)['aud']).toBe('web')
  })

  it('one of them at /token, another one at each refresh, and all of them again', async () => {
    const { redeem } = await authorize(asking(payments, ledger, plain))
    const tokens = await redeem(asking(ledger))
    expect(readAnswer(tokens)).toEqual({ aud: ledger, scope: 'openid offline_access read', ttl: 900 })
    const refresh = async (...resources: readonly string[]) =>
      readAnswer(await oidc.refreshTokenGrant(client, tokens.refresh_token ?? '', parameters(asking(...resources))))
    expect(await refresh(payments)).toEqual({ aud: payments, scope: 'openid offline_access read write', ttl: 120 })
    expect(await refresh(plain)).toEqual({ aud: plain, scope, ttl: 500 })
    expect(await refresh(ledger, plain)).toEqual({ aud: [ledger, plain], scope, ttl: 500 })
    expect(await refresh()).toEqual({ aud: [payments, ledger, plain], scope, ttl: 120 })
  })

  it('what was not granted is refused at /token, and burns nothing', async () => {
    const { redeem } = await authorize(asking(payments))
    for (const resources of [
      asking(ledger),
      asking(payments, ledger),
      asking(server.issuer),
      asking('https://unknown.example'),
      asking(`${payments}/`),
      asking('HTTPS://payments.bank.example'),
    ])
      await expect(redeem(resources)).rejects.toMatchObject({ error: 'invalid_target', status: 400 })
    const { refresh_token = '' } = await redeem(asking(payments))
    for (const resources of [asking(ledger), asking(payments, plain), asking('https://unknown.example')])
      await expect(oidc.refreshTokenGrant(client, refresh_token, parameters(resources))).rejects.toMatchObject({
        error: 'invalid_target',
      })
    expect(readAnswer(await oidc.refreshTokenGrant(client, refresh_token)).aud).toBe(payments)
  })

  it('unknown, relative, or with a fragment: invalid_target at /authorize', async () => {
    for (const resources of [
      asking('https://unknown.example'),
      asking(payments, 'https://unknown.example'),
      asking('payments'),
      asking('/v1'),
      asking(`${payments}#part`),
      asking(`${payments}/`),
    ]) {
      const { callback, redeem } = await authorize(resources)
      expect(Object.fromEntries(callback.searchParams)).toMatchObject({
        error: 'invalid_target',
        state: 'a state',
        iss: server.issuer,
      })
      await expect(redeem()).rejects.toMatchObject({ error: 'invalid_target' })
    }
    expect(readAnswer(await (await authorize([])).redeem()).aud).toBe(server.issuer)
  })
})

describe('resources of a service', () => {
  const ask = async (clientId: string, list: Parameters) =>
    readAnswer(
      await oidc.clientCredentialsGrant(await connect(clientId, serviceClient.client_secret), parameters(list)),
    )

  it('has the scopes and the time of each', async () => {
    expect(await ask('service', [])).toEqual({ aud: server.issuer, scope: 'read write', ttl: 500 })
    expect(await ask('service', asking(payments))).toEqual({ aud: payments, scope: 'read write', ttl: 120 })
    expect(await ask('service', asking(ledger))).toEqual({ aud: ledger, scope: 'read', ttl: 900 })
    expect(await ask('service', asking(reports))).toEqual({ aud: reports, scope: undefined, ttl: 500 })
    expect(await ask('service', [['scope', 'write'], ...asking(payments, plain)])).toEqual({
      aud: [payments, plain],
      scope: 'write',
      ttl: 120,
    })
    expect(await ask('service', asking(plain, plain))).toEqual({ aud: plain, scope: 'read write', ttl: 500 })
  })

  it('is refused what it may not have', async () => {
    for (const [clientId, resources] of [
      ['service', asking('https://unknown.example')],
      ['service', asking(payments, 'https://unknown.example')],
      ['service', asking('payments')],
      ['service', asking(`${payments}#`)],
      ['narrow', asking(payments)],
      ['narrow', asking(plain, payments)],
    ] as const)
      await expect(ask(clientId, resources)).rejects.toMatchObject({ error: 'invalid_target', status: 400 })
    expect(await ask('narrow', asking(plain))).toEqual({ aud: plain, scope: 'write', ttl: 500 })
  })

  it('gets an error when a resource knows none of the scopes, and no useless token', async () => {
    for (const [clientId, list] of [
      ['service', [['scope', 'write'], ...asking(ledger)]],
      ['writer', asking(ledger)],
    ] as readonly (readonly [string, Parameters])[])
      await expect(ask(clientId, list)).rejects.toMatchObject({ error: 'invalid_scope', status: 400 })
    expect((await ask('service', [['scope', 'read'], ...asking(ledger)])).scope).toBe('read')
  })
})

it('the default audience can be such a resource, too', async () => {
  await using other = await startServer({
    configure: (written) => ({
      ...written,
      default_audience: payments,
      resources: [{ identifier: payments, scope: 'read', access_token_ttl_secs: 60 }],
    }),
  })
  const authorization = `Basic ${Buffer.from(`service:${serviceClient.client_secret}`).toString('base64')}`
  const body = new URLSearchParams({ grant_type: 'client_credentials' })
  const answer = await fetch(`${other.issuer}/token`, { method: 'POST', body, headers: { authorization } })
  expect(await answer.json()).toMatchObject({ expires_in: 60, scope: 'read' })
})
