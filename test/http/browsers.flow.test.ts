import { afterAll, beforeAll, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { redirectUri, serviceClient } from '../support/server/server.js'
import { raw } from '../support/server/http-server.js'
import { startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { deviceGrant } from '../support/clients/device.js'

let host: TokenServer
let issuer: string
beforeAll(async () => {
  host = await startTokenServer({
    configure: (written) => ({
      ...written,
      registration: { mode: 'open' },
      plugins: [...(written['plugins'] as object[]), { use: 'plugins/grants/device-code' }],
      clients: [{ ...serviceClient, grant_types: ['client_credentials', deviceGrant] }],
    }),
  })
  ;({ issuer } = host.server)
})
afterAll(() => host[Symbol.asyncDispose]())

it('a person with 17 KB of cookies reads what helps, in their language and with its stylesheet', async () => {
  const cookie = `a=${'x'.repeat(17_000)}`
  const headers = { cookie, accept: 'text/html', 'accept-language': 'de' }
  for (const path of ['/authorize', '/account', '/device', '/logout', '/nowhere', '/interaction/a/login']) {
    const response = await fetch(issuer + path, { headers })
    expect([response.status, response.headers.get('content-language') ?? 'de']).toEqual([431, 'de'])
    const text = await response.text()
    expect(text).toContain('Löschen Sie die Cookies dieser Website')
    const [, sheet = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(text) ?? []
    expect((await fetch(new URL(sheet, issuer), { headers })).status).toBe(200)
  }
})

it('scripts of other origins may send any header to what they may read, documents and refusals too', async () => {
  const wanted = 'x-okta-user-agent-extended, mcp-protocol-version, traceparent, tracestate, x-requested-with'
  for (const path of [
    ...['/token', '/par', '/revoke', '/device_authorization', '/userinfo', '/register', '/register/x', '/jwks.json'],
    ...['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'],
  ]) {
    const headers = { origin: 'https://app.example', 'access-control-request-headers': wanted }
    const preflight = await fetch(issuer + path, {
      method: 'OPTIONS',
      headers: { ...headers, 'access-control-request-method': 'GET' },
    })
    expect(preflight.status, path).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers'), path).toBe('*, Authorization')
    expect(preflight.headers.get('access-control-max-age')).toBe('3600')
    const refused = await fetch(issuer + path, { method: 'PATCH', headers: { origin: 'https://app.example' } })
    expect(refused.status).toBe(405)
    for (const answer of [preflight, refused]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    }
    expect(refused.headers.get('access-control-expose-headers')).toContain('X-Request-Id')
  }
})

it('an unknown query is ignored, and a parameter of the endpoint in the query is refused', async () => {
  const authorization = basic(serviceClient)
  const endpoints: Readonly<Record<string, readonly [Record<string, string>, string]>> = {
    '/token': [{ grant_type: 'client_credentials' }, 'code'],
    '/revoke': [{ token: 'x' }, 'token'],
    '/introspect': [{ token: 'x' }, 'token'],
    '/device_authorization': [{ scope: 'read' }, 'scope'],
    '/par': [{ response_type: 'code', scope: 'openid' }, 'redirect_uri'],
  }
  const ask = async (path: string, query: string) => {
    const [form] = endpoints[path] ?? [{}]
    const body = new URLSearchParams(form)
    const response = await fetch(`${issuer}${path}?${query}`, { method: 'POST', headers: { authorization }, body })
    const text = await response.text()
    return text.includes('Parameters belong in the body')
  }
  for (const [path, [, known]] of Object.entries(endpoints)) {
    for (const query of ['client-request-id=1', 'x', 'tenant=a&tenant=b', 'CODE=1', 'foo[code]=1'])
      expect(await ask(path, query), `${path}?${query}`).toBe(false)
    for (const name of [known, 'client_id', 'client_secret', 'client_assertion', 'client_assertion_type'])
      expect(await ask(path, `x=1&${name}=1`), `${path}?${name}`).toBe(true)
  }
  const register = async (query: string) => {
    const body = JSON.stringify({ redirect_uris: [redirectUri] })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${issuer}/register?${query}`, { method: 'POST', headers, body })).status
  }
  expect([await register('trace=1'), await register('access_token=x'), await register('scope=read')]).toEqual([
    201, 400, 400,
  ])
  const token = await fetch(`${issuer}/token?client-request-id=1`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  expect(token.status).toBe(200)
})

it.each(['/', '/authorize', '/token', '/nowhere'])(
  'oversized cookies at %s get a page with advice in a browser',
  async (path) => {
    const visit = (bytes: number, accept: string) => {
      const cookies = Array.from({ length: Math.ceil(bytes / 1000) }, (_, n) => `c${n}=${'x'.repeat(990)}`).join('; ')
      return raw(
        Number(new URL(issuer).port),
        `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${accept}\r\nCookie: ${cookies}\r\n\r\n`,
      )
    }
    const page = /^HTTP\/1\.1 431 [^]*text\/html[^]*Your browser sent too much data\. Delete the cookies of this site/
    for (const bytes of [17_000, 24_000, 31_000, 33_000, 60_000]) {
      expect(await visit(bytes, 'Accept: text/html,application/xhtml+xml,*/*;q=0.8')).toMatch(page)
      expect(await visit(bytes, 'accept: application/json')).toMatch(/^HTTP\/1\.1 431 [^]*"error":"invalid_request"/)
    }
    expect(await visit(15_000, 'Accept: text/html')).not.toMatch(/^HTTP\/1\.1 431/)
  },
)
