import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { request as send, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createResourceServer,
  forExpress,
  forFastify,
  forHttp,
  forKoa,
  type AccessTokenChecker,
  type ResourceServer,
  type VerifiedAccessToken,
} from '../../libraries/verify/index.js'
import { publicClient, serviceClient, subject } from '../support/server/server.js'
import { startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { ask, listen } from '../support/verify/verify-server.js'

const audience = 'https://api.example/orders'
const closes: (() => Promise<unknown>)[] = []
let issuer: TokenServer
let api: ResourceServer
let introspecting: ResourceServer
/** An API has to know where it is, which a port shows only once there is a server. */
const late = (server: () => ResourceServer): AccessTokenChecker => ({
  check: (request, given) => server().requireAccessToken({ scope: 'read' }).check(request, given),
})

beforeAll(async () => {
  issuer = await startTokenServer({
    configure: (written) => ({
      ...written,
      resources: [{ identifier: audience, scope: 'read write' }],
      clients: [
        { ...serviceClient, allowed_audiences: [audience] },
        { ...serviceClient, client_id: 'api', introspection_audiences: [audience] },
        { ...publicClient, allowed_audiences: [audience] },
      ],
    }),
  })
})
afterAll(async () => {
  for (const close of closes) await close()
  await issuer[Symbol.asyncDispose]()
})

const serverFor = (origin: string, more: object = {}): ResourceServer =>
  createResourceServer({ issuers: [issuer.server.issuer], audience, origin, clock: issuer.now, ...more })

const discover = (secret = serviceClient.client_secret) =>
  oidc.discovery(new URL(issuer.server.issuer), 'service', secret, undefined, { execute: [oidc.allowInsecureRequests] })

const said = ({ subject, clientId, scope, confirmation }: VerifiedAccessToken) => ({
  subject,
  clientId,
  scope,
  confirmation,
})

const start = async (name: string): Promise<string> => {
  const checker = late(() => api)
  if (name === 'fastify') {
    const app = fastify()
    app.addHook('preParsing', forFastify(checker, 'token'))
    app.post('/under/*', (request) => ({
      ...said((request as never as { token: VerifiedAccessToken }).token),
      body: request.body,
    }))
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    closes.push(() => app.close())
    return url
  }
  const site = await listen(
    name === 'koa'
      ? new Koa()
          .use(forKoa(checker, 'token'))
          .use((ctx) => {
            ctx.body = said(ctx.state['token'] as VerifiedAccessToken)
          })
          .callback()
      : name === 'express'
        ? express().use(
            '/under',
            forExpress(checker, 'token'),
            (request: object, response: { json(body: object): void }) => {
              response.json(said((request as { token: VerifiedAccessToken }).token))
            },
          )
        : forHttp(checker, (_request, response, found) => {
            response.end(JSON.stringify(said(found)))
          }),
  )
  closes.push(() => site.close())
  return site.url
}

const json = new Headers({ 'content-type': 'application/json' })

describe.each(['http', 'koa', 'express', 'fastify'])('clients that others wrote, and an API with %s', (name) => {
  let url: URL
  beforeAll(async () => {
    const origin = await start(name)
    url = new URL(`${origin}/under/a%20b?q=1`)
  })

  it('VR39: openid-client gets in with DPoP, and with the nonce that the API asks for', async () => {
    api = serverFor(url.origin, { dpopNonceSecret: 'a secret for tests that is long enough' })
    const client = await discover()
    const DPoP = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair('ES256'))
    const parameters = { scope: 'read', resource: audience }
    const { access_token: token, token_type: type } = await oidc.clientCredentialsGrant(client, parameters, { DPoP })
    expect(type).toBe('dpop')
    const call = (handle = DPoP) =>
      oidc.fetchProtectedResource(client, token, url, 'POST', '{"n":1}', json, { DPoP: handle })
    const response = await call()
    expect(response.status).toBe(200)
    expect(response.headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/)
    expect(await response.json()).toEqual({
      subject: 'service',
      clientId: 'service',
      scope: ['read'],
      confirmation: 'dpop',
      ...(name === 'fastify' && { body: { n: 1 } }),
    })
    // Another key, and the token without its proof.
    const thief = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair('ES256'))
    await expect(call(thief)).rejects.toMatchObject({
      status: 401,
      cause: expect.arrayContaining([
        expect.objectContaining({
          scheme: 'dpop',
          parameters: expect.objectContaining({ error: 'invalid_token' }) as unknown,
        }),
      ]) as unknown,
    })
    const stolen = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` } })
    expect(stolen.status).toBe(401)
    expect(await stolen.json()).toMatchObject({ error: 'invalid_token', error_code: 'wrong_scheme' })
  })

  it('VR44: oauth4webapi reads the challenges: no token, another audience, too little scope', async () => {
    api = serverFor(url.origin)
    const client = await discover()
    const get = async (parameters: Record<string, string>) => {
      const { access_token: token } = await oidc.clientCredentialsGrant(client, parameters)
      const http = { [oauth.allowInsecureRequests]: true }
      return oauth.protectedResourceRequest(token, 'POST', url, json, '{}', http)
    }
    expect((await get({ scope: 'read write', resource: audience })).status).toBe(200)
    const expectChallenge = (asked: Promise<unknown>, status: number, told: object) =>
      expect(asked).rejects.toMatchObject({
        status,
        cause: expect.arrayContaining([
          expect.objectContaining({ scheme: 'bearer', parameters: expect.objectContaining(told) as unknown }),
        ]) as unknown,
      })
    await expectChallenge(get({ scope: 'write', resource: audience }), 403, {
      error: 'insufficient_scope',
      scope: 'read',
    })
    await expectChallenge(get({ scope: 'read' }), 401, { error: 'invalid_token' })
    const nobody = await fetch(url, { method: 'POST' })
    expect(nobody.headers.get('www-authenticate')).toMatch(/^Bearer, DPoP algs=/)
    expect(nobody.headers.get('cache-control')).toBe('no-store')
  })
})

it('VR43: refuses headers that are there twice, and VR47: answers before a byte of the body came', async () => {
  const site = await listen(
    forHttp(
      late(() => api),
      (_request, response) => void response.end('{}'),
    ),
  )
  closes.push(() => site.close())
  api = serverFor(site.url)
  const { access_token: token } = await oidc.clientCredentialsGrant(await discover(), {
    scope: 'read',
    resource: audience,
  })
  const authorization = ['authorization', `Bearer ${token}`]
  expect(await ask(site.port, { headers: authorization })).toMatchObject({ status: 200 })
  for (const headers of [
    [...authorization, ...authorization],
    [...authorization, 'dpop', 'a', 'dpop', 'b'],
  ])
    expect(await ask(site.port, { headers })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_code: 'duplicate_header' },
    })
  // Headers of other kinds are for others, however often they come.
  const signatures = ['signature', 'a=:AA==:', 'signature', 'b=:AA==:']
  expect(await ask(site.port, { headers: [...authorization, ...signatures] })).toMatchObject({ status: 200 })
  const begun = send({ port: site.port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': '1000' } })
  begun.flushHeaders()
  const [refused] = (await once(begun, 'response')) as [IncomingMessage]
  expect(refused.statusCode).toBe(401)
  begun.destroy()
})

it('VR46: a revoked token is refused at once where the API asks Signet, and by others until it ends', async () => {
  const endpoint = `${issuer.server.issuer}/introspect`
  const introspection = { endpoint, clientId: 'api', clientSecret: serviceClient.client_secret }
  introspecting = serverFor('https://api.example', { introspection })
  const alone = serverFor('https://api.example')
  const client = await discover()
  const { access_token: token } = await oidc.clientCredentialsGrant(client, { scope: 'read', resource: audience })
  const check = (by: ResourceServer) =>
    by
      .requireAccessToken()
      .check(new Request('https://api.example/', { headers: { authorization: `Bearer ${token}` } }))
      .then(
        ({ clientId }) => clientId,
        ({ reason }: { reason: string }) => reason,
      )
  expect(await check(introspecting)).toBe('service')
  await oidc.tokenRevocation(client, token)
  expect([await check(introspecting), await check(alone)]).toEqual(['token_revoked', 'service'])
})

it('VR44: a person signs in again where an API of Signet wants a stronger or a later sign-in', async () => {
  const needed = { scope: 'read', acrValues: ['urn:example:passkey'], maxAge: 300 }
  const checker = serverFor('https://api.example').requireAccessToken(needed)
  const signIn = async (acr: string) => {
    const authentication = { auth_time: Math.floor(issuer.now() / 1000), amr: ['hwk'], acr, sid: 'sid' }
    const { code } = await issuer.mint.code({ clientId: 'app', resource: [audience], authentication })
    const { body } = await issuer.redeem(code, {}, publicClient)
    return String(body['access_token'])
  }
  const check = (token: string) =>
    checker.check(new Request('https://api.example/', { headers: { authorization: `Bearer ${token}` } }))
  const challenge = expect.stringMatching(
    /^Bearer error="insufficient_user_authentication", .*acr_values="urn:example:passkey", max_age="300"/,
  ) as string
  const refusal = { answer: { status: 401, headers: { 'www-authenticate': challenge } } }
  await expect(check(await signIn('urn:example:password'))).rejects.toMatchObject(refusal)
  const strong = await signIn('urn:example:passkey')
  expect(await check(strong)).toMatchObject({ subject, clientId: 'app' })
  issuer.later(301_000)
  await expect(check(strong)).rejects.toMatchObject(refusal)
})
