import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectGood, startFixture, type Fixture } from '../support/server/http-server.js'

const formType = 'application/x-www-form-urlencoded'
let server: Fixture
beforeAll(async () => {
  server = await startFixture({
    endpoints: {
      keySet: () => {
        throw new Error('canary-7f3a')
      },
      consent: () => {
        throw new Error('canary-7f3a')
      },
    },
  })
})
afterAll(() => server.close(1000))
afterEach(() => expectGood(server.origin))

describe('HT13 and HT14: what errors reveal', () => {
  it('a bug reveals nothing', async () => {
    for (const path of ['/jwks.json', '/interaction/a/consent']) {
      const reply = await fetch(`${server.origin}${path}`)
      expect(reply.status).toBe(500)
      const visible = (await reply.text()) + JSON.stringify([...reply.headers])
      expect(visible).not.toMatch(/canary|node_modules|\.[jt]s:\d|koa|node\/|v20\./i)
      expect(reply.headers.get('server') ?? reply.headers.get('x-powered-by')).toBeNull()
      expect(reply.headers.get('cache-control')).toBe('no-store')
      expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
    }
  })

  it('an error echoes nothing of the request', async () => {
    for (const [path, init] of [
      ['/canary-7f3a', {}],
      ['/token?canary-7f3a', { method: 'PATCH' }],
      ['/token', { method: 'POST', body: 'canary-7f3a=%ff', headers: { 'content-type': formType } }],
      ['/token', { method: 'POST', body: 'x', headers: { 'content-type': 'canary-7f3a' } }],
      ['/authorize', { method: 'POST', body: 'canary-7f3a=%ff', headers: { 'content-type': formType } }],
    ] as const) {
      const reply = await fetch(`${server.origin}${path}`, init)
      expect(reply.status).toBeGreaterThanOrEqual(400)
      expect(await reply.text()).not.toContain('canary')
      expect(reply.headers.get('cache-control')).toBe('no-store')
    }
  })

  it('a caller cannot choose the request id, nor put a query or one of our ids into the log', async () => {
    const reply = await fetch(`${server.origin}/authorize?code=canary-log`, {
      headers: { 'x-request-id': 'canary-log' },
    })
    expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
    await fetch(`${server.origin}/interaction/canary-log/login`)
    await expectGood(server.origin)
    const requests = server.log.lines.filter((line) => line.message === 'request')
    expect(requests.some(({ fields }) => fields['path'] === '/interaction/{id}/login')).toBe(true)
    expect(JSON.stringify(server.log.lines)).not.toContain('canary-log')
  })
})
