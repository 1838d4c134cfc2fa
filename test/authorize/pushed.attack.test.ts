import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic, otherClient } from '../support/clients/clients.js'
import { createProver } from '../support/clients/dpop-proof.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, publicClient, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'

const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

describe('attacks on pushed authorization requests', () => {
  const mostOpen = 5
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      configure: (written) => ({
        ...written,
        clients: [
          webClient,
          otherClient,
          publicClient,
          { ...webClient, client_id: 'pushing', require_pushed_authorization_requests: true },
        ],
        rate_limits: { par: { address_open: mostOpen } },
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const asked = {
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  const push = async (
    form: Record<string, string> | [string, string][],
    headers: Record<string, string> = { authorization: basic(webClient) },
    query = '',
  ) => {
    const body = new URLSearchParams(form)
    const response = await fetch(`${server.issuer}/par${query}`, { method: 'POST', body, headers })
    const answer = (await response.json()) as Record<string, string>
    return { status: response.status, error: answer['error'], uri: answer['request_uri'] ?? '', response }
  }
  const open = async (parameters: Record<string, string>, agent = new UserAgent()) => {
    const { response, left, url } = await agent.follow(`${server.issuer}/authorize?${new URLSearchParams(parameters)}`)
    return { status: response.status, text: await response.text(), left, url }
  }
  const unusable = expect.objectContaining({
    status: 400,
    left: undefined,
    text: expect.stringContaining('has expired or was already used') as string,
  }) as unknown

  it.each([
    ['ours', 'urn:ietf:params:oauth:request_uri:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['an address', 'https://evil.example/request.jwt'],
  ])('PA01 a request_uri in a push: %s', async (_, request_uri) => {
    expect(await push({ ...asked, request_uri })).toMatchObject({ status: 400, error: 'invalid_request' })
  })

  it.each([
    ['no credentials', {}, { client_id: 'web' }],
    ['a wrong secret', { authorization: basic({ ...webClient, client_secret: 'wrong' }) }, {}],
    ['an unknown client', { authorization: basic({ client_id: 'nobody', client_secret: 'x' }) }, {}],
  ])('PA02 %s', async (_, headers, more) => {
    const { status, error, uri } = await push({ ...asked, ...more }, headers)
    expect([status, error, uri]).toEqual([401, 'invalid_client', ''])
  })

  it.each(['GET', 'PUT', 'DELETE'])('PA03 %s', async (method) => {
    const response = await fetch(`${server.issuer}/par?${new URLSearchParams({ ...asked, client_id: 'app' })}`, {
      method,
    })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
  })

  it('PA04, PA06, PA07 a used, foreign, unknown or malformed reference: the same page', async () => {
    const { uri } = await push(asked)
    const foreign = await open({ client_id: 'other', request_uri: uri })
    const agent = new UserAgent()
    const left = await agent.authorize(
      `${server.issuer}/authorize?${new URLSearchParams({ client_id: 'web', request_uri: uri })}`,
      person,
    )
    expect(left.searchParams.has('code')).toBe(true)
    const prefix = 'urn:ietf:params:oauth:request_uri:'
    const pages = [
      foreign,
      await open({ client_id: 'web', request_uri: uri }, agent),
      await open({ client_id: 'web', request_uri: `${prefix}${'A'.repeat(43)}` }),
      await open({ client_id: 'web', request_uri: prefix }),
      await open({ client_id: 'web', request_uri: `${prefix}${'A'.repeat(4000)}` }),
      await open({ client_id: 'web', request_uri: `${uri}x` }),
    ]
    const withoutId = (text: string) => text.replace(/(id="request-id">)[^<]+/, '$1')
    for (const page of pages) {
      expect(page).toEqual(unusable)
      expect(withoutId(page.text)).toBe(withoutId(foreign.text))
    }
  })

  it('PA05 one reference answered in many browsers at once: one code', async () => {
    const { uri } = await push(asked)
    const at = `${server.issuer}/authorize?${new URLSearchParams({ client_id: 'web', request_uri: uri })}`
    const agents = Array.from({ length: 8 }, () => new UserAgent())
    // One after another: so many guesses at once would have to wait.
    for (const agent of agents)
      await agent.authorize(`${server.issuer}/authorize?${new URLSearchParams({ ...asked, client_id: 'web' })}`, person)
    const answers = await Promise.all(agents.map((agent) => agent.follow(at)))
    expect(answers.filter(({ left }) => left?.searchParams.has('code'))).toHaveLength(1)
    expect(answers.filter(({ response }) => response.status === 400)).toHaveLength(7)
  })

  it('PA08 parameters beside a reference are ignored', async () => {
    const { uri } = await push({ ...asked, state: 'inner' })
    const evil = { redirect_uri: 'https://evil.example/cb', scope: 'openid email', state: 'outer', prompt: 'none' }
    const left = await new UserAgent().authorize(
      `${server.issuer}/authorize?${new URLSearchParams({ client_id: 'web', request_uri: uri, ...evil })}`,
      person,
    )
    expect(`${left.origin}${left.pathname}`).toBe(redirectUri)
    expect(left.searchParams.get('state')).toBe('inner')
    const granted = (await server.audit()).findLast(({ event }) => event === 'authorization.granted')
    expect(granted?.['scope']).toBe('openid')
  })

  it('PA08 a repeated reference, or one in both query and body, is refused', async () => {
    const { uri } = await push(asked)
    const twice = new URLSearchParams([
      ['client_id', 'web'],
      ['request_uri', uri],
      ['request_uri', uri],
    ])
    const { response, left } = await new UserAgent().follow(`${server.issuer}/authorize?${twice}`)
    expect([response.status, left]).toEqual([400, undefined])
  })

  it('PA09 a plain request of a client that must push, by query and by form', async () => {
    const parameters = new URLSearchParams({ ...asked, client_id: 'pushing' })
    for (const init of [undefined, { method: 'POST', body: parameters }]) {
      const query = init ? '' : `?${parameters}`
      const { response, left } = await new UserAgent().follow(`${server.issuer}/authorize${query}`, init)
      expect([response.status, left]).toEqual([400, undefined])
      expect(await response.text()).toContain('must push its requests')
    }
  })

  it('PA10 a body that is too large', async () => {
    expect((await push({ ...asked, nonce: 'n'.repeat(1_100_000) })).status).toBe(413)
  })

  it('PA10 one address has a limit of open requests for a public client, and others are unaffected', async () => {
    const results = []
    for (let count = 0; count <= mostOpen; count++) results.push(await push({ ...asked, client_id: 'app' }, {}))
    expect(results.map(({ status }) => status)).toEqual([...Array<number>(mostOpen).fill(201), 429])
    expect(Number(results.at(-1)?.response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await push(asked)).status).toBe(201)
  })

  it('PA11 a proof of a key other than dpop_jkt, and a replayed proof', async () => {
    const prover = createProver()
    const endpoint = `${server.issuer}/par`
    const headers = (proof: string) => ({ authorization: basic(webClient), dpop: proof })
    const { response } = await push(asked, headers(prover.proof(endpoint, undefined)))
    const nonce = response.headers.get('dpop-nonce') ?? ''
    const foreign = { ...asked, dpop_jkt: createProver().jkt }
    expect(await push(foreign, headers(prover.proof(endpoint, nonce)))).toMatchObject({
      status: 400,
      error: 'invalid_request',
    })
    const proof = prover.proof(endpoint, nonce)
    expect((await push({ ...asked, dpop_jkt: prover.jkt }, headers(proof))).status).toBe(201)
    expect(await push(asked, headers(proof))).toMatchObject({ status: 400, error: 'invalid_dpop_proof' })
    expect(await push(asked, headers(prover.proof(`${server.issuer}/token`, nonce)))).toMatchObject({
      status: 400,
      error: 'invalid_dpop_proof',
    })
  })

  it.each<[string, Record<string, string>, string]>([
    ['a redirect URI that is not registered', { redirect_uri: 'https://evil.example/cb' }, 'invalid_request'],
    ['no PKCE method', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['an unknown scope', { scope: 'nothing' }, 'invalid_scope'],
    ['a malformed dpop_jkt', { dpop_jkt: 'x' }, 'invalid_request'],
    ['another client_id', { client_id: 'other' }, 'invalid_client'],
  ])('%s is refused when it is pushed', async (_, change, error) => {
    expect(await push({ ...asked, ...change })).toMatchObject({ error, uri: '' })
  })

  it('a repeated parameter, and one in the query, are refused', async () => {
    expect(await push([...Object.entries(asked), ['state', 'a'], ['state', 'b']])).toMatchObject({
      status: 400,
      error: 'invalid_request',
    })
    expect(await push(asked, undefined, '?state=x')).toMatchObject({ status: 400, error: 'invalid_request' })
  })
})
