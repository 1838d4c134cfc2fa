import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, publicClient, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'

const failingSigner = new URL('../support/signers/failing-signer.ts', import.meta.url).pathname

const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const pkce = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const asked = { redirect_uri: redirectUri, response_type: 'code', scope: 'openid', state: 'st4te', ...pkce }

const clients = [
  { ...webClient, consent: 'implicit' },
  publicClient,
  { ...webClient, client_id: 'ps256', authorization_signed_response_alg: 'PS256', consent: 'implicit' },
  { ...webClient, client_id: 'eddsa', authorization_signed_response_alg: 'EdDSA' },
]
const key = (kid: string, alg: string, purposes?: readonly string[]) => ({
  ...{ kid, alg, signer: 'local', ref: `${kid}.pem` },
  ...(purposes && { purposes }),
})

describe('signed authorization responses', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      configure: (written) => ({
        ...written,
        keys: [key('es256', 'ES256'), key('ps256', 'PS256'), key('ed', 'EdDSA', ['id_token', 'jarm'])],
        clients,
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const url = (more: Record<string, string> = {}) =>
    `${server.issuer}/authorize?${new URLSearchParams({ client_id: 'web', ...asked, ...more })}`
  const verify = (response: string | null | undefined, audience = 'web') =>
    jwtVerify(response ?? '', createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`)), {
      issuer: server.issuer,
      audience,
    })

  it.each(['jwt', 'query.jwt'])(
    'by %s contain all parameters in the JWT, and none beside it',
    async (response_mode) => {
      const left = await new UserAgent().authorize(url({ response_mode }), person)
      expect([...left.searchParams.keys()]).toEqual(['response'])
      const { payload, protectedHeader } = await verify(left.searchParams.get('response'))
      expect(payload).toEqual({
        ...{ iss: server.issuer, aud: 'web', exp: expect.any(Number), code: expect.any(String), state: 'st4te' },
      })
      expect(payload.exp).toBeLessThanOrEqual(Date.now() / 1000 + 600)
      expect(protectedHeader.alg).toBe('ES256')
      const lines = (await server.audit()).filter(({ event }) => event === 'authorization.signed')
      expect(lines.at(-1)).toMatchObject({ client_id: 'web', signatures: [{ purpose: 'jarm', alg: 'ES256' }] })
      expect(JSON.stringify(lines)).not.toContain(payload['code'])
    },
  )

  it('by fragment.jwt are in the fragment', async () => {
    const left = await new UserAgent().authorize(url({ response_mode: 'fragment.jwt' }), person)
    expect(left.search).toBe('')
    const sent = new URLSearchParams(left.hash.slice(1))
    expect([...sent.keys()]).toEqual(['response'])
    expect((await verify(sent.get('response'))).payload).toMatchObject({ code: expect.any(String), state: 'st4te' })
  })

  it('by fragment, unsigned, have code and errors in the fragment, and nothing in the query', async () => {
    const left = await new UserAgent().authorize(url({ response_mode: 'fragment' }), person)
    expect(left.search).toBe('')
    const sent = Object.fromEntries(new URLSearchParams(left.hash.slice(1)))
    expect(sent).toEqual({ code: expect.any(String), state: 'st4te', iss: server.issuer })
    const refused = await new UserAgent().follow(url({ response_mode: 'fragment', prompt: 'none' }))
    const error = Object.fromEntries(new URLSearchParams(refused.left?.hash.slice(1)))
    expect(refused.left?.search).toBe('')
    expect(error).toMatchObject({ error: 'login_required', state: 'st4te', iss: server.issuer })
  })

  it('by form_post.jwt are in the form', async () => {
    const agent = new UserAgent()
    const at = await agent.follow(url({ response_mode: 'form_post.jwt' }))
    const done = await agent.submit(at.url, await at.response.text(), { ...person })
    const html = await done.response.text()
    const response = /name="response" value="([^"]+)"/.exec(html)?.[1]
    expect((await verify(response)).payload).toMatchObject({ state: 'st4te' })
    expect(html).not.toContain('name="state"')
  })

  it('are signed with the algorithm that the client registered', async () => {
    const left = await new UserAgent().authorize(url({ client_id: 'ps256', response_mode: 'jwt' }), person)
    const { protectedHeader } = await verify(left.searchParams.get('response'), 'ps256')
    expect(protectedHeader.alg).toBe('PS256')
  })

  it('may be errors', async () => {
    const { left } = await new UserAgent().follow(url({ response_mode: 'jwt', prompt: 'none' }))
    expect([...(left?.searchParams.keys() ?? [])]).toEqual(['response'])
    expect((await verify(left?.searchParams.get('response'))).payload).toMatchObject({
      ...{ error: 'login_required', state: 'st4te' },
    })
  })

  it('are refused with a clear message if no key can sign them', async () => {
    await using other = await startServer({
      configure: (written) => ({ ...written, keys: [key('es256', 'ES256', ['access_token', 'id_token'])] }),
    })
    const { left } = await new UserAgent().follow(
      `${other.issuer}/authorize?${new URLSearchParams({ client_id: 'web', ...asked, response_mode: 'jwt' })}`,
    )
    expect(left?.searchParams.get('error')).toBe('unsupported_response_mode')
    const metadata = (await (await fetch(`${other.issuer}/.well-known/openid-configuration`)).json()) as object
    expect(metadata).toMatchObject({ response_modes_supported: ['query', 'fragment', 'form_post'] })
  })

  it('JR04 consume nothing while the signer is down: the same page can be answered later', async () => {
    const control = join(server.directory, 'control')
    await writeFile(control, 'sign')
    await using other = await startServer({
      log: { debug() {}, info() {}, warn() {}, error() {} },
      configure: (written) => ({
        ...written,
        signers: { away: { use: failingSigner, options: { control } } },
        keys: [{ kid: 'away', alg: 'ES256', signer: 'away', ref: 'x' }],
        clients: clients.slice(0, 2),
      }),
    })
    const query = new URLSearchParams({ client_id: 'web', ...asked, response_mode: 'jwt' })
    const agent = new UserAgent()
    const at = await agent.follow(`${other.issuer}/authorize?${query}`)
    const html = await at.response.text()
    await writeFile(control, 'unavailable')
    expect((await agent.submit(at.url, html, { ...person })).response.status).toBe(503)
    await writeFile(control, 'sign')
    // The supervisor asks the signer again in its own time.
    const again = async () => (await agent.follow(at.url)).left?.searchParams.has('response')
    await expect.poll(again, { timeout: 30_000 }).toBe(true)
  })

  it('are in the discovery document, and work with openid-client and oauth4webapi', async () => {
    const metadata = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as object
    expect(metadata).toMatchObject({
      response_modes_supported: ['query', 'fragment', 'form_post', 'query.jwt', 'fragment.jwt', 'form_post.jwt', 'jwt'],
      authorization_signing_alg_values_supported: expect.arrayContaining(['ES256', 'PS256', 'EdDSA']),
    })
    const config = await openid.discovery(
      new URL(server.issuer),
      'web',
      { client_secret: webClient.client_secret, authorization_signed_response_alg: 'ES256' },
      openid.ClientSecretBasic(webClient.client_secret),
      { execute: [openid.allowInsecureRequests, openid.useJwtResponseMode] },
    )
    const at = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid',
      state: 's1',
      ...pkce,
    })
    const answer = await new UserAgent().authorize(at, person)
    const checks = { pkceCodeVerifier: verifier, expectedState: 's1' }
    expect((await openid.authorizationCodeGrant(config, answer, checks)).claims()?.sub).toBeDefined()

    const options = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(server.issuer)
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
    const client: oauth.Client = { client_id: 'app', authorization_signed_response_alg: 'ES256' }
    const back = await new UserAgent().authorize(url({ client_id: 'app', response_mode: 'jwt' }), person)
    const valid = await oauth.validateJwtAuthResponse(as, client, back, asked.state, options)
    expect(valid.get('code')).toBeTruthy()
  })
})
