import { afterEach, describe, expect, it } from 'vitest'
import type { AdminEndpoint } from '../../core/endpoints/admin/admin-endpoint.js'
import { createReloadEndpoint, type ReloadRequest } from '../../core/endpoints/admin/reload.js'
import { createAdminEndpoints } from '../../core/host/admin-endpoints.js'
import { adminRoutes } from '../../core/http/admin.js'
import { createApp } from '../../core/http/app.js'
import { listen, type Listening } from '../../core/http/server.js'
import { createReadiness } from '../../core/observe/health.js'
import { createMetrics } from '../../core/observe/metrics.js'
import { Unavailable } from '../../core/unavailable.js'
import { errorPage, memoryLog } from '../support/server/http-server.js'

const log = memoryLog()
const opened: { close(graceMs: number): unknown }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close(0)
})

const start = async () => {
  const state = { now: Date.UTC(2026, 0, 1), asked: [] as ReloadRequest[] }
  const readiness = createReadiness(Date.now, log)
  opened.push({ close: () => readiness.close() })
  const reload = createReloadEndpoint((request) => {
    state.asked.push(request)
    return Promise.resolve({ outcome: 'unchanged', warnings: [] })
  })
  const endpoints = createAdminEndpoints({ readiness, metrics: createMetrics(), reload }, () => () => {
    throw new Unavailable('service', 'no', 'is not part of this test')
  })
  const app = createApp({
    routes: adminRoutes(endpoints, {}, () => state.now),
    log,
    errorPage,
    secure: false,
    trustedProxies: [],
    requestBudgetMs: 1000,
    logLevel: 'debug',
  })
  const listening: Listening = await listen(app, { host: '127.0.0.1', port: 0, log })
  opened.push(listening)
  const send = (path: string, form?: string) =>
    fetch(`${listening.url}${path}`, {
      ...(form !== undefined && {
        method: 'POST',
        body: form,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      }),
    })
  return { state, endpoints, send }
}

const changes = ({ methods }: AdminEndpoint): boolean => methods[0] !== 'GET'

describe('routes of the admin listener', () => {
  it('name the audit event of their change, and are open to everyone only if they change nothing, or sign in', async () => {
    const { endpoints } = await start()
    expect(endpoints.filter(changes).length).toBeGreaterThan(3)
    for (const endpoint of endpoints) {
      expect(endpoint.event !== undefined, endpoint.path).toBe(changes(endpoint))
      if (endpoint.permission === 'none' && !endpoint.path.startsWith('/console/sign-in'))
        expect(changes(endpoint), endpoint.path).toBe(false)
    }
  })

  it('answer according to their schemas', async () => {
    const { endpoints, send } = await start()
    const schemaOf = (path: string) => endpoints.find((endpoint) => endpoint.path === path)?.output
    for (const path of ['/health/live', '/health/ready']) schemaOf(path)!.parse(await (await send(path)).json())
    schemaOf('/reload')!.parse(await (await send('/reload', '')).json())
  })

  it.each([
    ['a member that the route does not know', 'force=true&other=1'],
    ['a value that is none of it', 'force=yes'],
    ['a member that comes twice', 'force=true&force=true'],
    ['who asks, too long', `os_user=${'a'.repeat(257)}`],
    ['a way that does not exist', 'via=start'],
  ])('refuse %s', async (_, form) => {
    const { state, send } = await start()
    const reply = await send('/reload', form)
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ error: 'invalid_request' })
    expect(state.asked).toEqual([])
  })

  it('pass on the request from the form', async () => {
    const { state, send } = await start()
    expect((await send('/reload', 'force=true&via=command&os_user=ada')).status).toBe(200)
    expect(state.asked).toEqual([{ force: true, by: { via: 'command', os_user: 'ada', address: '127.0.0.1' } }])
  })

  it('limit the requests of one address per minute', async () => {
    const { state, endpoints, send } = await start()
    const limit = endpoints.find(({ path }) => path === '/reload')?.limit as number
    for (let sent = 0; sent < limit; sent++) expect((await send('/reload', '')).status).toBe(200)
    state.now += 20_000
    const refused = await send('/reload', '')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('40')
    expect(state.asked.length).toBe(limit)
    // What monitoring asks is not limited by it.
    expect((await send('/health/live')).status).toBe(200)
    state.now += 40_000
    expect((await send('/reload', '')).status).toBe(200)
  })
})
