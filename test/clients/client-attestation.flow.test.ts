import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { challenge as codeChallenge, verifier } from '../support/forge/mint.js'
import {
  attesterIssuer,
  attesterKey,
  newInstance,
  startAttestedClientServer,
  type AttestedClientServer,
  type Instance,
} from '../support/server/attested-client-server.js'
import { expectRefusal, type Answer } from '../support/server/token-server.js'

let server: AttestedClientServer
beforeAll(async () => {
  server = await startAttestedClientServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const redirectUri = 'https://wallet.example/callback'

/** What an instance sends. */
const headersOf = (instance: Instance = server.instance, claims: Record<string, unknown> = {}) =>
  server.headers(server.attestation({ cnf: { jwk: instance.jwk }, ...claims }), server.proof({}, {}, instance))

const redeem = async (instance?: Instance): Promise<Answer> => {
  const { code } = await server.host.mint.code({
    clientId: 'wallet',
    redirectUri,
    scope: ['openid', 'offline_access', 'read'],
  })
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
  return server.host.token(form, headersOf(instance))
}

const refresh = (token: unknown, instance?: Instance): Promise<Answer> =>
  server.host.token({ grant_type: 'refresh_token', refresh_token: String(token) }, headersOf(instance))

describe('clients whose instances are attested', () => {
  it('are advertised, with the challenge endpoint', async () => {
    const answer = await fetch(`${server.issuer}/.well-known/oauth-authorization-server`)
    const metadata = (await answer.json()) as Record<string, unknown>
    const methods = expect.arrayContaining(['attest_jwt_client_auth', 'attest_jwt_client_auth_dpop']) as unknown
    const algs = expect.arrayContaining(['ES256']) as unknown
    expect(metadata).toMatchObject({
      challenge_endpoint: `${server.issuer}/challenge`,
      token_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      client_attestation_signing_alg_values_supported: algs,
      client_attestation_pop_signing_alg_values_supported: algs,
    })
  })

  it('authenticate at /token, /introspect, /revoke and /par', async () => {
    const issued = await server.host.token({ grant_type: 'client_credentials' }, headersOf())
    expect(issued).toMatchObject({ status: 200, body: { token_type: 'Bearer' } })
    const token = { token: String(issued.body['access_token']) }
    expect((await server.post('/introspect', token, headersOf())).body['active']).toBe(true)
    expect((await server.post('/revoke', token, headersOf())).status).toBe(200)
    expect((await server.post('/introspect', token, headersOf())).body['active']).toBe(false)
    expectRefusal(await server.post('/introspect', token), 401, 'invalid_client')
    const lines = await server.host.server.audit()
    expect(lines.filter(({ event }) => event === 'token.issued').at(-1)).toMatchObject({
      client_auth_method: 'attest_jwt_client_auth',
      client_id: 'wallet',
      instance_jkt: server.instance.jkt,
    })
  })

  it('may follow draft -07, with iss in both', async () => {
    const form = { grant_type: 'client_credentials' }
    const attested = server.attestation({ iss: attesterIssuer, nbf: server.seconds() })
    expect((await server.ask(attested, server.proof({ iss: 'wallet' }), form)).status).toBe(200)
  })

  it('have refresh tokens that are valid only for the same instance of the client', async () => {
    const other = newInstance()
    const first = await redeem()
    expect(first.status).toBe(200)
    expectRefusal(await refresh(first.body['refresh_token'], other), 400, 'invalid_grant')
    const renewed = await refresh(first.body['refresh_token'])
    expect(renewed.status).toBe(200)
    const again = renewed.body['refresh_token'] ?? first.body['refresh_token']
    expectRefusal(await refresh(again, other), 400, 'invalid_grant')
    // With a new attestation of the same key.
    const headers = headersOf(server.instance, { exp: server.seconds() + 7200 })
    const form = { grant_type: 'refresh_token', refresh_token: String(again) }
    expect((await server.host.token(form, headers)).status).toBe(200)
  })

  it('AT14 get 503 while their attester is unreachable, which consumes nothing, and are accepted when it is back', async () => {
    let up = false
    const keys = createServer((_request, response) => {
      response.statusCode = up ? 200 : 503
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ keys: [attesterKey.publicJwk] }))
    }).listen(0, '127.0.0.1')
    await once(keys, 'listening')
    const { port } = keys.address() as AddressInfo
    try {
      await using remote = await startAttestedClientServer({
        log: noLog,
        options: { attesters: [{ clients: ['wallet'], jwks_uri: `http://127.0.0.1:${String(port)}/jwks` }] },
      })
      const proof = remote.proof()
      const down = await remote.ask(remote.attestation(), proof)
      expectRefusal(down, 503, 'temporarily_unavailable')
      up = true
      remote.host.later(11_000)
      expect((await remote.ask(remote.attestation(), proof)).status).toBe(200)
    } finally {
      keys.close()
      keys.closeAllConnections()
    }
  })

  it('push requests, also with the DPoP proof as the proof', async () => {
    const request = {
      client_id: 'wallet',
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      code_challenge: codeChallenge,
      code_challenge_method: 'S256',
    }
    expect((await server.post('/par', request, headersOf())).status).toBe(201)
    const combined = {
      ...server.headers(server.attestation({ sub: 'dpop-wallet' }), undefined),
      dpop: await server.dpop('/par'),
    }
    expect((await server.post('/par', { ...request, client_id: 'dpop-wallet' }, combined)).status).toBe(201)
  })
})
