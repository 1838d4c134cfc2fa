import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { page } from '../../core/endpoints/message.js'
import { OAuthError } from '../../core/oauth/errors.js'
import { Unavailable } from '../../core/unavailable.js'
import { errorPage, raw, startFixture, type Fixture } from '../support/server/http-server.js'

let server: Fixture
beforeAll(async () => {
  server = await startFixture({
    endpoints: {
      keySet: () => {
        throw new Error('secret-canary in a bug')
      },
      consent: () => {
        throw new Unavailable('storage.records', 'no', 'down')
      },
      login: (request) => {
        if (request.path.get('id') !== 'bad')
          return page(200, `${request.path.get('id')} ${request.form.values.get('username')}`, 'en')
        throw new OAuthError('invalid_client', 'Unknown client.', { headers: { 'WWW-Authenticate': 'Basic' } })
      },
    },
  })
})
afterAll(() => server.close(1000))

const form = (body: string, path = '/token') =>
  fetch(`${server.origin}${path}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

describe('the route table', () => {
  it('reads a form flat and gives each answer its request id', async () => {
    const reply = await form('a=1&b[c]=2&a=3')
    expect(reply.status).toBe(200)
    expect(await reply.json()).toMatchObject({ method: 'POST', form: { a: '1', 'b[c]': '2' }, repeated: ['a'] })
    expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('serves pages with parameters in the path through the router', async () => {
    const reply = await form('username=al%C3%AFce&x[y]=1', '/interaction/abc-_1/login')
    expect(reply.status).toBe(200)
    expect(await reply.text()).toContain('abc-_1 alïce')
    expect(reply.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(reply.headers.get('x-frame-options')).toBe('DENY')
  })

  it('reads the form of /authorize flat, too', async () => {
    const reply = await form('scope=a&scope=b&claims[x]=1', '/authorize?q=1')
    expect(await reply.json()).toMatchObject({
      form: { scope: 'a', 'claims[x]': '1' },
      query: { q: '1' },
      repeated: ['scope'],
    })
  })

  it.each(['/token', '/authorize'])('reads a form that is UTF-8 without encoding at %s', async (path) => {
    expect(await (await form('name=alïce', path)).json()).toMatchObject({ form: { name: 'alïce' } })
  })

  it('answers HEAD like GET, without a body', async () => {
    const reply = await fetch(`${server.origin}/.well-known/openid-configuration`, { method: 'HEAD' })
    expect(reply.status).toBe(200)
    expect(Number(reply.headers.get('content-length'))).toBeGreaterThan(10)
    expect(await reply.text()).toBe('')
  })

  it('distinguishes a bug, an outage and a refusal', async () => {
    const bug = await fetch(`${server.origin}/jwks.json`)
    expect([bug.status, await bug.json()]).toEqual([
      500,
      { error: 'server_error', error_description: 'Something went wrong on the server.' },
    ])
    expect(server.log.lines.find((line) => line.message === 'A request failed')?.cause).toBeInstanceOf(Error)
    const outage = await fetch(`${server.origin}/interaction/x/consent`)
    expect(outage.status).toBe(503)
    expect(Number(outage.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(outage.headers.get('content-type')).toContain('text/html')
    const refusal = await fetch(`${server.origin}/interaction/bad/login`)
    expect(refusal.status).toBe(401)
    expect(refusal.headers.get('www-authenticate')).toBe('Basic')
    expect(await refusal.text()).toBe(
      errorPage(
        {
          status: 401,
          title: 'Sign-in error',
          message: 'Unknown client.',
          requestId: refusal.headers.get('x-request-id') ?? '',
        },
        {},
      ).html,
    )
  })

  it('writes an HTTP/1.1 answer at once', async () => {
    const text = await raw(server.port, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(text).toMatch(/<h1>Signet<\/h1>$/)
  })
})
