import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createProver } from '../support/clients/dpop-proof.js'
import { publicClient, redirectUri, serviceClient, startServer, webClient } from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { basic, type Credentials } from '../support/clients/clients.js'
import { createDeployment } from '../support/server/processes.js'

// Every secret of a whole session is a canary, and none of them may be seen anywhere but where it belongs.

const mark = 'canary'
const person = { username: 'alice', password: `${mark}-password correct horse` }
const secretOf = (name: string): string => `${mark}-secret-of-${name}-with-more-than-256-bits`
// Held to Basic, so that its secret in a form is refused.
const web = { ...webClient, client_secret: secretOf('web'), token_endpoint_auth_method: 'client_secret_basic' }
const service = { ...serviceClient, client_secret: secretOf('service') }
const verifier = `${mark}-verifier-of-43-characters-or-more-is-long-enough`
const account = { ...person, sub: '248289761001', claims: { name: 'Alice Adams' } }

const configure = (written: Record<string, unknown>) => ({
  ...written,
  clients: [web, publicClient, service],
  accounts: [account],
  log: { level: 'debug' },
})

interface Session {
  /** Every secret that was sent or received. */
  readonly secrets: ReadonlySet<string>
  /** The text of every answer that was no success, headers and all. */
  readonly refusals: readonly string[]
}

/** A whole session against `origin`, and everything that can be wrong with one. */
const live = async (origin: string): Promise<Session> => {
  const secrets = new Set([person.password, web.client_secret, service.client_secret, verifier])
  const refusals: string[] = []
  const agent = new UserAgent()

  const keep = async (response: Response): Promise<Record<string, string>> => {
    const text = await response.text()
    if (response.status >= 400) refusals.push(text + JSON.stringify([...response.headers]))
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    const body = (isJson ? JSON.parse(text) : {}) as Record<string, string>
    for (const name of ['access_token', 'id_token', 'refresh_token']) if (body[name]) secrets.add(body[name])
    return body
  }
  const post = async (
    path: string,
    form: Readonly<Record<string, string>> | string,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams(form).toString()
    return keep(await fetch(origin + path, { method: 'POST', body, headers: { ...type, ...headers } }))
  }
  const withSecret = (client: Credentials) => {
    const authorization = basic(client)
    secrets.add(authorization.slice(6))
    return { authorization }
  }
  const get = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
    keep(await fetch(origin + path, { headers, redirect: 'manual' }))

  const query = {
    client_id: 'web',
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid profile offline_access',
    state: `${mark}-state`,
    nonce: `${mark}-nonce-of-the-request`,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }
  const authorize = async (more: Readonly<Record<string, string>> = {}) => {
    const callback = await agent.authorize(`${origin}/authorize?${new URLSearchParams({ ...query, ...more })}`, person)
    for (const { value } of agent.cookies.values()) secrets.add(value)
    const code = callback.searchParams.get('code') ?? ''
    secrets.add(code)
    return code
  }

  const page = await new UserAgent().follow(`${origin}/authorize?${new URLSearchParams(query)}`)
  const stranger = new UserAgent()
  const open = await stranger.follow(`${origin}/authorize?${new URLSearchParams(query)}`)
  const html = await open.response.text()
  const wrong = { username: 'alice', password: `${mark}-password that is wrong` }
  secrets.add(wrong.password)
  await stranger.submit(open.url, html, wrong)
  await stranger.submit(open.url, html.replaceAll(/value="[^"]+"/g, `value="${mark}-csrf"`), {
    ...wrong,
    csrf: `${mark}-csrf`,
  })
  for (const { value } of stranger.cookies.values()) secrets.add(value)
  await keep(
    await fetch(page.url, {
      method: 'POST',
      body: new URLSearchParams(wrong),
      headers: { cookie: `${mark}=${mark}-cookie` },
    }),
  )

  const exchange = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: verifier }
  const code = await authorize()
  await post(
    '/token',
    { ...exchange, code, code_verifier: `${mark}-wrong-verifier-of-43-characters-or-more` },
    withSecret(web),
  )
  await post('/token', { ...exchange, code }, withSecret({ ...web, client_secret: `${mark}-wrong-secret` }))
  await post('/token', { ...exchange, code, client_id: 'web', client_secret: web.client_secret })
  await post('/token', { ...exchange, code, client_secret: web.client_secret }, withSecret(web))
  await post(`/token?code=${code}&client_secret=${web.client_secret}`, { ...exchange, code }, withSecret(web))
  await post('/token', `code=${code}&code=${code}&grant_type=authorization_code`, withSecret(web))
  await post('/token', { ...exchange, code }, { ...withSecret(web), 'content-type': 'text/plain' })
  await post('/token', { ...exchange, code }, { authorization: `Basic ${web.client_secret}` })
  const first = await post('/token', { ...exchange, code }, withSecret(web))
  expect(first['access_token']).toBeTypeOf('string')

  const bearer = { authorization: `Bearer ${first['access_token']}` }
  await get('/userinfo', bearer)
  await get(`/userinfo?access_token=${first['access_token']}`)
  await get('/userinfo', { authorization: `Bearer ${first['id_token']}` })
  await get('/userinfo', { authorization: `Bearer ${first['access_token']?.slice(0, -2)}` })
  await get('/userinfo', {
    authorization: `DPoP ${first['access_token']}`,
    dpop: `${mark}-proof`,
    cookie: `a=${mark}-c`,
  })
  await get(`/authorize?${new URLSearchParams({ ...query, id_token_hint: first['id_token'] ?? '', prompt: 'none' })}`)
  await get(`/authorize?${new URLSearchParams({ ...query, request: `${mark}-request-object` })}`)
  await get(`/authorize?${new URLSearchParams({ ...query, client_id: 'no-such-client' })}`)
  await get(`/${mark}-path?code=${code}`)

  await post('/token', { grant_type: 'refresh_token', refresh_token: first['refresh_token'] ?? '' }, withSecret(web))
  await post('/token', { grant_type: 'refresh_token', refresh_token: first['refresh_token'] ?? '', client_id: 'app' })
  await post('/token', { grant_type: 'client_credentials' }, withSecret(service))
  await post('/token', {
    grant_type: 'client_credentials',
    client_assertion: `${mark}-assertion`,
    client_id: 'service',
  })
  await post('/token', { ...exchange, code }, withSecret(web))
  await get('/userinfo', bearer)

  const ofApp = await authorize({ client_id: 'app' })
  const second = await post('/token', { ...exchange, code: ofApp, client_id: 'app' })
  const rotate = { grant_type: 'refresh_token', client_id: 'app', refresh_token: second['refresh_token'] ?? '' }
  const third = await post('/token', rotate)
  await post('/token', { ...rotate, refresh_token: third['refresh_token'] ?? '' })
  await post('/token', rotate)
  expect(third['refresh_token']).toBeTypeOf('string')

  const prover = createProver()
  const prove = (nonce: string | undefined) => {
    const proof = prover.proof(`${origin}/token`, nonce, { claims: { jti: `${mark}-jti-${String(nonce)}` } })
    secrets.add(proof)
    return { ...withSecret(service), dpop: proof }
  }
  const refused = await fetch(`${origin}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
    headers: prove(undefined),
  })
  const nonce = refused.headers.get('dpop-nonce') ?? ''
  await keep(refused)
  const proved = prove(nonce)
  expect((await post('/token', { grant_type: 'client_credentials' }, proved))['token_type']).toBe('DPoP')
  await post('/token', { grant_type: 'client_credentials' }, proved)
  await post('/token', { grant_type: 'client_credentials' }, { ...withSecret(service), dpop: `${mark}-proof` })
  expect(secrets.size).toBeGreaterThan(20)
  expect(refusals.length).toBeGreaterThanOrEqual(20)
  return { secrets, refusals }
}

const expectSilence = (where: string, text: string, { secrets }: Session): void => {
  expect(text.length).toBeGreaterThan(0)
  expect(text, where).not.toContain(mark)
  for (const secret of secrets) {
    expect(text, where).not.toContain(secret)
    expect(text, where).not.toContain(encodeURIComponent(secret))
    // The signature alone makes a token, and the last half of an opaque one is nearly all of it.
    expect(text, where).not.toContain(secret.slice(-Math.min(20, secret.length)))
  }
}

/** A path that is nobody's secret appears: `/canary-path`, without its query. */
const pathless = (text: string): string => text.replaceAll(`/${mark}-path`, '')

describe('canaries in every secret of a session', () => {
  it('are in no line of an unredacted log, no audit line and no refusal', async () => {
    const lines: unknown[] = []
    const capture =
      (level: string) =>
      (...entry: unknown[]): void =>
        void lines.push([level, ...entry])
    const log = { debug: capture('debug'), info: capture('info'), warn: capture('warn'), error: capture('error') }
    await using server = await startServer({ configure, log })
    const session = await live(server.issuer)
    const logged = inspect(lines, { depth: 10, maxArrayLength: null, maxStringLength: null })
    expectSilence('log', pathless(logged), session)
    expectSilence('audit', await readFile(join(server.directory, 'audit.jsonl'), 'utf8'), session)
    for (const refusal of session.refusals) expectSilence('refusal', refusal, session)
    const paths = lines.filter((line) => inspect(line).includes(`/${mark}-path`))
    expect(paths).toHaveLength(1)
  })

  it('are in nothing that the process prints at level debug', async () => {
    await using deployment = await createDeployment(configure)
    const server = await deployment.start()
    const session = await live(server.origin)
    await server.stop('SIGTERM')
    expect(server.output().split('\n').length).toBeGreaterThan(30)
    expectSilence('output', pathless(server.output()), session)
    expectSilence('audit', await readFile(join(deployment.directory, 'audit.jsonl'), 'utf8'), session)
  })

  it('would be found: the search detects a logged canary', () => {
    const session: Session = { secrets: new Set(['opaque-token-of-256-bits']), refusals: [] }
    expect(() => expectSilence('log', 'a line with canary-x', session)).toThrow()
    expect(() => expectSilence('log', 'a line with ue-token-of-256-bits', session)).toThrow()
  })
})
