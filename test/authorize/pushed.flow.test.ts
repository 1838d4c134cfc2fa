import { createHash } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { createProver } from '../support/clients/dpop-proof.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, publicClient, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'

const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const challenge = createHash('sha256').update(verifier).digest('base64url')

describe('pushed authorization requests', () => {
  const time = { ahead: 0 }
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      clock: () => Date.now() + time.ahead,
      configure: (written) => ({
        ...written,
        clients: [
          webClient,
          publicClient,
          { ...webClient, client_id: 'pushing', require_pushed_authorization_requests: true },
        ],
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const asked = { redirect_uri: redirectUri, response_type: 'code', scope: 'openid', state: 'pushed state' }
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }

  const push = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${server.issuer}/par`, { method: 'POST', body: new URLSearchParams(form), headers })
  const pushed = async (form: Record<string, string>, headers?: Record<string, string>) => {
    const response = await push(form, headers)
    return { response, body: (await response.json()) as Record<string, string> }
  }
  const url = (more: Record<string, string>) => `${server.issuer}/authorize?${new URLSearchParams(more)}`
  const asWeb = { authorization: basic(webClient) }
  const redeem = (code: string | null, headers: Record<string, string> = asWeb) =>
    fetch(`${server.issuer}/token`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({
        ...{ grant_type: 'authorization_code', code: code ?? '', redirect_uri: redirectUri, code_verifier: verifier },
      }),
    })

  it('are kept for a minute, and can be opened any number of times before the answer, never after it', async () => {
    const { response, body } = await pushed({ ...asked, ...pkce }, asWeb)
    expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store'])
    expect(body).toEqual({
      request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[\w-]{43}$/),
      expires_in: 60,
    })
    const at = url({ client_id: 'web', request_uri: body['request_uri'] ?? '' })
    const agent = new UserAgent()
    expect((await agent.follow(at)).url.pathname).toMatch(/\/login$/)
    const other = new UserAgent()
    const second = await other.follow(at)
    const left = await agent.authorize(at, person)
    expect(Object.fromEntries(left.searchParams)).toEqual({
      code: expect.any(String),
      state: 'pushed state',
      iss: server.issuer,
    })
    expect((await redeem(left.searchParams.get('code'))).status).toBe(200)

    const again = await agent.follow(at)
    expect([again.response.status, again.left]).toEqual([400, undefined])
    expect(await again.response.text()).toContain('has expired or was already used')
    expect((await new UserAgent().follow(at)).response.status).toBe(400)
    // The page that another browser opened before the answer leads nowhere either.
    const signed = await other.submit(second.url, await second.response.text(), { ...person })
    expect([signed.response.status, signed.left]).toEqual([400, undefined])
    expect(await signed.response.text()).toContain('has expired or was already used')
  })

  it('expire after exactly expires_in seconds, and an open page can still be answered', async () => {
    const at = async () => {
      const { body } = await pushed({ ...asked, ...pkce }, asWeb)
      return url({ client_id: 'web', request_uri: body['request_uri'] ?? '' })
    }
    const [opened, late] = [await at(), await at()]
    const agent = new UserAgent()
    const page = await agent.follow(opened)
    try {
      time.ahead = 61_000
      expect((await new UserAgent().follow(late)).response.status).toBe(400)
      const signed = await agent.submit(page.url, await page.response.text(), { ...person })
      const left =
        signed.left ?? (await agent.submit(signed.url, await signed.response.text(), { decision: 'allow' })).left
      expect(left?.searchParams.has('code')).toBe(true)
    } finally {
      time.ahead = 0
    }
  })

  it('are consumed by an error, too', async () => {
    const { body } = await pushed({ ...asked, ...pkce, prompt: 'none' }, asWeb)
    const at = url({ client_id: 'web', request_uri: body['request_uri'] ?? '' })
    const { left } = await new UserAgent().follow(at)
    expect([left?.searchParams.get('error'), left?.searchParams.get('iss')]).toEqual(['login_required', server.issuer])
    expect((await new UserAgent().follow(at)).response.status).toBe(400)
  })

  it('are mandatory for a client that registered so, and optional for others', async () => {
    const refused = await new UserAgent().follow(url({ client_id: 'pushing', ...asked, ...pkce }))
    expect([refused.response.status, refused.left]).toEqual([400, undefined])
    expect(await refused.response.text()).toContain('must push its requests')
    const credentials = { authorization: basic({ ...webClient, client_id: 'pushing' }) }
    const { body } = await pushed({ ...asked, ...pkce }, credentials)
    const left = await new UserAgent().authorize(
      url({ client_id: 'pushing', request_uri: body['request_uri'] ?? '' }),
      person,
    )
    expect(left.searchParams.has('code')).toBe(true)
    const plain = await new UserAgent().follow(url({ client_id: 'web', ...asked, ...pkce }))
    expect(plain.url.pathname).toMatch(/\/login$/)
  })

  it('are mandatory in a deployment that requires them', async () => {
    await using strict = await startServer({
      configure: (written) => ({ ...written, require_pushed_authorization_requests: true }),
    })
    const plain = `${strict.issuer}/authorize?${new URLSearchParams({ client_id: 'app', ...asked, ...pkce })}`
    const refused = await new UserAgent().follow(plain)
    expect([refused.response.status, refused.left]).toEqual([400, undefined])
    const metadata = (await (await fetch(`${strict.issuer}/.well-known/openid-configuration`)).json()) as object
    expect(metadata).toMatchObject({ require_pushed_authorization_requests: true })
  })

  it('bind the code to the key of a DPoP proof, which needs a nonce', async () => {
    const prover = createProver()
    const endpoint = `${server.issuer}/par`
    const first = await push({ ...asked, ...pkce }, { ...asWeb, dpop: prover.proof(endpoint, undefined) })
    expect([first.status, ((await first.json()) as { error: string }).error]).toEqual([400, 'use_dpop_nonce'])
    const nonce = first.headers.get('dpop-nonce') ?? ''
    const { response, body } = await pushed({ ...asked, ...pkce }, { ...asWeb, dpop: prover.proof(endpoint, nonce) })
    expect([response.status, response.headers.has('dpop-nonce')]).toEqual([201, true])
    const left = await new UserAgent().authorize(
      url({ client_id: 'web', request_uri: body['request_uri'] ?? '' }),
      person,
    )
    const code = left.searchParams.get('code')
    expect((await redeem(code)).status).toBe(400)
    const other = createProver().proof(`${server.issuer}/token`, nonce)
    expect((await redeem(code, { ...asWeb, dpop: other })).status).toBe(400)
    const bound = await redeem(code, { ...asWeb, dpop: prover.proof(`${server.issuer}/token`, nonce) })
    expect(((await bound.json()) as { token_type: string }).token_type).toBe('DPoP')
  })

  it('appear in the audit log and in the discovery document', async () => {
    await pushed({ ...asked, ...pkce }, asWeb)
    expect((await server.audit()).at(-1)).toMatchObject({
      event: 'authorization.pushed',
      client_id: 'web',
      scope: 'openid',
    })
    const metadata = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as object
    expect(metadata).toMatchObject({
      pushed_authorization_request_endpoint: `${server.issuer}/par`,
      require_pushed_authorization_requests: false,
    })
  })

  it('work with openid-client and with oauth4webapi', async () => {
    const insecure = { execute: [openid.allowInsecureRequests] }
    const config = await openid.discovery(
      new URL(server.issuer),
      'web',
      webClient.client_secret,
      openid.ClientSecretBasic(),
      insecure,
    )
    const parameters = { redirect_uri: redirectUri, scope: 'openid', state: 's1', ...pkce }
    const at = await openid.buildAuthorizationUrlWithPAR(config, parameters)
    expect([...at.searchParams.keys()].toSorted()).toEqual(['client_id', 'request_uri'])
    const answer = await new UserAgent().authorize(at, person)
    const tokens = await openid.authorizationCodeGrant(config, answer, {
      pkceCodeVerifier: verifier,
      expectedState: 's1',
    })
    expect(tokens.claims()?.sub).toBeDefined()

    const options = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(server.issuer)
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
    const client: oauth.Client = { client_id: 'app' }
    const response = await oauth.pushedAuthorizationRequest(as, client, oauth.None(), { ...asked, ...pkce }, options)
    const { request_uri, expires_in } = await oauth.processPushedAuthorizationResponse(as, client, response)
    expect(expires_in).toBe(60)
    const back = await new UserAgent().authorize(url({ client_id: 'app', request_uri }), person)
    const valid = oauth.validateAuthResponse(as, client, back, asked.state)
    const redeemed = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      oauth.None(),
      valid,
      redirectUri,
      verifier,
      options,
    )
    expect((await oauth.processAuthorizationCodeResponse(as, client, redeemed)).access_token).toBeDefined()
  })
})
