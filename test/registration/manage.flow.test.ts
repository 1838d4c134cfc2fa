import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newAssertionKey } from '../support/clients/client-assertion.js'
import { bearer, manage, post, register, type Registered } from '../support/clients/registration.js'
import { redirectUri, subject } from '../support/server/server.js'
import { read, startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { basic } from '../support/clients/clients.js'

type Json = Record<string, unknown>

const web = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] }

let host: TokenServer
let issuer: string
beforeAll(async () => {
  host = await startTokenServer({ configure: (written) => ({ ...written, registration: { mode: 'open' } }) })
  ;({ issuer } = host.server)
})
afterAll(() => host[Symbol.asyncDispose]())

const clients = () => host.store.records<Json>('clients')

const expectToken = async ({ registration_client_uri: uri }: Registered, token: string, isGood: boolean) => {
  const answer = await read(await fetch(uri, { headers: bearer(token) }))
  expect(answer.status).toBe(isGood ? 200 : 401)
  if (!isGood) expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
}

describe('GET /register/{client_id}', () => {
  it('answers what was registered, without the secret', async () => {
    const { client_secret, ...told } = await register(issuer, { ...web, client_name: 'Shop' })
    expect(client_secret).toBeDefined()
    const answer = await manage('GET', told)
    expect(answer).toMatchObject({ status: 200, body: told })
    expect(answer.body).not.toHaveProperty('client_secret')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('lists the allowed methods in answer to any other one', async () => {
    const told = await register(issuer, web)
    const patched = await manage('PATCH', told, {})
    expect(patched.status).toBe(405)
    expect(patched.headers.get('allow')).toBe('GET, HEAD, PUT, DELETE, OPTIONS')
    const got = await read(await fetch(`${issuer}/register`))
    expect(got.status).toBe(405)
    expect(got.headers.get('allow')).toBe('POST, OPTIONS')
    const preflight = await fetch(told.registration_client_uri, { method: 'OPTIONS' })
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, PUT, DELETE')
    expect((await fetch(told.registration_client_uri, { method: 'HEAD' })).status).toBe(401)
  })
})

describe('PUT /register/{client_id}', () => {
  it('replaces all metadata and the token, and keeps the secret', async () => {
    const told = await register(issuer, { ...web, client_name: 'Shop', contacts: ['ops@shop.example'] })
    const { client_id, client_secret } = told
    const answer = await manage('PUT', told, {
      ...web,
      client_id,
      client_secret,
      client_name: 'Shop 2',
      scope: 'openid',
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ client_id, client_secret, client_name: 'Shop 2', scope: 'openid' })
    expect(answer.body).not.toHaveProperty('contacts')
    await expectToken(told, told.registration_access_token, false)
    await expectToken(told, String(answer.body['registration_access_token']), true)
    const { code } = await host.mint.code({ clientId: client_id, scope: ['openid'] })
    const issued = await host.redeem(code, {}, { client_id, client_secret: client_secret ?? '' })
    expect(issued.status).toBe(200)
    expect(await host.server.audit()).toContainEqual(expect.objectContaining({ event: 'client.updated', client_id }))
  })

  it('takes the answer of GET back', async () => {
    const told = await register(issuer, web)
    const { body } = await manage('GET', told)
    const answer = await manage('PUT', told, body)
    expect({ ...answer.body, registration_access_token: '' }).toEqual({ ...body, registration_access_token: '' })
  })

  it('gives a secret to a client that needs one now, and takes it from one that does not', async () => {
    const told = await register(issuer, { ...web, token_endpoint_auth_method: 'none' })
    const { client_id } = told
    const basicNow = await manage('PUT', told, { ...web, client_id })
    expect(basicNow.body['client_secret']).toMatch(/^[\w-]{43}$/)
    const jwks = { keys: [newAssertionKey().publicJwk] }
    const keyed = { ...web, client_id, token_endpoint_auth_method: 'private_key_jwt', jwks }
    const keysNow = await manage('PUT', basicNow.body as unknown as Registered, keyed)
    expect(keysNow.body).not.toHaveProperty('client_secret')
    expect(await clients().find(client_id)).not.toHaveProperty('client_secret_sha256')
  })

  it('leaves what the operator has set', async () => {
    const told = await register(issuer, web)
    const { client_id } = told
    const before = (await clients().find(client_id)) ?? {}
    const operators = { consent: 'required', introspection_audiences: ['https://api.example'], metadata: { tier: 1 } }
    await clients().put(client_id, { ...before, ...operators, allowed_audiences: ['https://api.example'] })
    const answer = await manage('PUT', told, { ...web, client_id, consent: 'implicit', metadata: {} })
    expect(answer.status).toBe(200)
    expect(await clients().find(client_id)).toMatchObject({
      ...operators,
      allowed_audiences: ['https://api.example'],
    })
  })

  it('refuses another id, another secret, and what POST refuses, and changes nothing then', async () => {
    const told = await register(issuer, web)
    const { client_id } = told
    for (const metadata of [
      web,
      { ...web, client_id: 'web' },
      { ...web, client_id, client_secret: 'a secret of my own choice, long enough' },
      { ...web, client_id, scope: 'read' },
      { ...web, client_id, redirect_uris: ['http://client.example/'] },
    ])
      expect((await manage('PUT', told, metadata)).status).toBe(400)
    await expectToken(told, told.registration_access_token, true)
  })
})

describe('DELETE /register/{client_id}', () => {
  it('ends the client and all that it has', async () => {
    const told = await register(issuer, web)
    const { client_id, client_secret = '' } = told
    const { code } = await host.mint.code({ clientId: client_id })
    const { body } = await host.redeem(code, {}, { client_id, client_secret })
    expect((await host.userinfo(String(body['access_token']))).body['sub']).toBe(subject)
    const answer = await manage('DELETE', told)
    expect(answer).toMatchObject({ status: 204, text: '' })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    await expectToken(told, told.registration_access_token, false)
    const refreshed = await host.refresh(String(body['refresh_token']), {}, { client_id, client_secret })
    expect(refreshed).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect((await host.userinfo(String(body['access_token']))).status).toBe(401)
    const { code: another } = await host.mint.code({ clientId: client_id })
    expect((await host.redeem(another, {}, { client_id, client_secret })).status).toBe(401)
    expect(
      (await host.token({ grant_type: 'client_credentials' }, { authorization: basic({ client_id, client_secret }) }))
        .status,
    ).toBe(401)
    expect(await host.server.audit()).toContainEqual(expect.objectContaining({ event: 'client.deleted', client_id }))
  })
})

describe('the token of a registration', () => {
  it('RG06 is good for its own client alone, and says nothing of others', async () => {
    const [one, other] = [await register(issuer, web), await register(issuer, web)]
    const answers = await Promise.all(
      [
        { ...one, registration_access_token: other.registration_access_token },
        { ...one, registration_access_token: 'x'.repeat(43) },
        { ...one, registration_access_token: String(one.client_secret) },
        { ...one, registration_client_uri: `${issuer}/register/web` },
        { ...one, registration_client_uri: `${issuer}/register/${'0'.repeat(36)}` },
      ].flatMap((attempt) =>
        ['GET', 'PUT', 'DELETE'].map((method) =>
          manage(method, attempt, method === 'PUT' ? { ...web, client_id: one.client_id } : undefined),
        ),
      ),
    )
    const seen = new Set(answers.map(({ status, text }) => `${String(status)} ${text}`))
    expect([...seen]).toEqual([
      '401 {"error":"invalid_token","error_description":"The access token is invalid, expired or revoked."}',
    ])
    await expectToken(one, one.registration_access_token, true)
  })

  it('RG06 is asked for, in the header alone', async () => {
    const told = await register(issuer, web)
    const [uri, token] = [told.registration_client_uri, told.registration_access_token]
    const without = await read(await fetch(uri))
    expect(without).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    expect(without.headers.get('www-authenticate')).toBe('Bearer')
    expect((await read(await fetch(`${uri}?access_token=${token}`))).status).toBe(400)
    expect((await read(await fetch(uri, { headers: { authorization: `DPoP ${token}` } }))).status).toBe(401)
    expect((await post(issuer, web, { authorization: 'Bearer x' })).status).toBe(401)
  })

  it('is of no use while the operator has disabled the client', async () => {
    const told = await register(issuer, web)
    await clients().put(told.client_id, { ...(await clients().find(told.client_id)), disabled: true })
    for (const method of ['GET', 'DELETE']) expect((await manage(method, told)).status).toBe(401)
  })
})
