import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { createAdminEndpoints } from '../../core/host/admin-endpoints.js'
import { adminRoutes } from '../../core/http/admin.js'
import { createApp } from '../../core/http/app.js'
import { listen, type Listening } from '../../core/http/server.js'
import { createMetrics } from '../../core/observe/metrics.js'
import { createReadiness, type Readiness } from '../../core/observe/health.js'
import { Unavailable } from '../../core/unavailable.js'
import { errorPage, memoryLog } from '../support/server/http-server.js'

let listening: Listening | undefined
let readiness: Readiness | undefined
afterEach(async () => {
  readiness?.close()
  await listening?.close(0)
})

const log = memoryLog()
const start = async (token?: string, clock = Date.now, host = '127.0.0.1') => {
  const ready = (readiness = createReadiness(clock, log))
  const reload = () => {
    throw new Unavailable('reload', 'no', 'there is nothing to reload')
  }
  const endpoints = createAdminEndpoints({ readiness: ready, metrics: createMetrics(), reload }, () => reload)
  const routes = adminRoutes(endpoints, { token }, clock)
  const options = { secure: false, trustedProxies: [], requestBudgetMs: 1000, logLevel: 'debug' } as const
  const admin = (listening = await listen(createApp({ routes, log, errorPage, ...options }), {
    host,
    port: 0,
    log,
  }))
  const get = (path: string, headers = {}) => fetch(`http://127.0.0.1:${admin.port}${path}`, { headers })
  const report = async () => {
    const reply = await get('/health/ready')
    const { status, components } = (await reply.json()) as Record<'status' | 'components', unknown>
    return { code: reply.status, status, components }
  }
  return { ready, get, report, port: admin.port }
}

const check = (name: string, run: (signal: AbortSignal) => Promise<void>, intervalMs = 5, deadlineMs = 1000) => ({
  name,
  intervalMs,
  deadlineMs,
  check: run,
})

describe('the admin listener', () => {
  it('is ready when every component has passed, one line for each', async () => {
    const { ready, get, report } = await start()
    let pass = (): void => undefined
    ready.register(check('storage.records', () => new Promise((resolve) => (pass = resolve))))
    ready.register(check('keys', () => Promise.resolve()))
    expect(await report()).toMatchObject({
      code: 503,
      status: 'not ready',
      components: { 'storage.records': { status: 'starting' } },
    })
    pass()
    await expect.poll(report).toEqual({
      code: 200,
      status: 'ready',
      components: { 'storage.records': { status: 'up' }, keys: { status: 'up' } },
    })
    const lines = await (await get('/health/ready')).text()
    expect(lines.split('\n')).toContain('"keys":{"status":"up"}')
  })

  it('reports what is down, without details of an unknown error', async () => {
    const { ready, report, get } = await start()
    const faults = { store: new Unavailable('store', 'no', 'refused') as Error | undefined }
    ready.register(check('store', () => (faults.store ? Promise.reject(faults.store) : Promise.resolve())))
    ready.register(check('bug', () => Promise.reject(new Error('canary-password'))))
    await expect.poll(report).toMatchObject({
      code: 503,
      components: { store: { status: 'down', message: 'refused' }, bug: { status: 'down' } },
    })
    expect(JSON.stringify(await report())).not.toContain('canary')
    faults.store = undefined
    await expect.poll(report).toMatchObject({ components: { store: { status: 'up' } } })
    expect((await get('/health/live')).status).toBe(200)
  })

  it('counts a hanging check as down, and abandons it', async () => {
    const { ready, report } = await start()
    let given: AbortSignal | undefined
    ready.register(check('hsm', (signal) => ((given = signal), new Promise(() => undefined)), 10_000, 20))
    await expect
      .poll(report)
      .toMatchObject({ components: { hsm: { status: 'down', message: 'no answer within 20 ms' } } })
    expect(given?.aborted).toBe(true)
  })

  it('does not reuse results for long', async () => {
    let now = 0
    const { ready, report } = await start(undefined, () => now)
    ready.register(check('keys', () => Promise.resolve(), 60_000, 1000))
    await expect.poll(report).toMatchObject({ code: 200 })
    now = 200_000
    expect(await report()).toMatchObject({
      code: 503,
      components: { keys: { message: 'not checked within the deadline' } },
    })
  })

  it('turns not ready first when the process stops, and stays live to the end', async () => {
    const { ready, report, get } = await start()
    ready.register(check('keys', () => Promise.resolve()))
    await expect.poll(report).toMatchObject({ code: 200 })
    ready.drain()
    expect(await report()).toMatchObject({ code: 503, components: { process: { status: 'draining' } } })
    expect((await get('/health/live')).status).toBe(200)
  })

  it('requires its token, and reveals nothing without it', async () => {
    const { get } = await start('s3cret-token')
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer s3cret-toke',
      'Bearer s3cret-token2',
      's3cret-token',
      'Basic s3cret-token',
      'Bearer S3cret-token',
    ]) {
      const reply = await get('/health/ready', authorization === undefined ? {} : { authorization })
      expect(reply.status, authorization).toBe(401)
      expect(reply.headers.get('www-authenticate')).toBe('Bearer')
      expect(await reply.text()).not.toContain('components')
    }
    for (const authorization of ['Bearer s3cret-token', 'bearer s3cret-token', 'BEARER  s3cret-token'])
      expect((await get('/health/ready', { authorization })).status).toBe(200)
    expect((await get('/health/live')).status).toBe(200)
  })

  /** `fetch` sends the `Host` of the URL and nothing else. */
  const ask = async (path: string, headers: Readonly<Record<string, string>>, target: RequestOptions) => {
    const asked = request({ ...target, path, headers, agent: false }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return { status: answer.statusCode, body: await text(answer) }
  }

  it('HX05 without a token answers only a loopback Host, to resist DNS rebinding', async () => {
    const { ready, port } = await start()
    ready.register(check('keys', () => Promise.resolve()))
    const own = ['localhost', 'LOCALHOST:3001', '127.0.0.1', '127.0.0.1:3001', '127.8.9.1', '[::1]', '[::1]:3001']
    for (const host of own) {
      await expect.poll(() => ask('/health/ready', { host }, { port })).toMatchObject({ status: 200 })
      expect((await ask('/metrics', { host }, { port })).status, host).toBe(200)
    }
    const others = ['evil.example', 'evil.example:3001', 'localhost.evil.example', '127.0.0.1.evil.example', '0.0.0.0']
    for (const host of [...others, '127.1', '192.168.0.1', '[::]', '127.0.0.1@evil.example']) {
      for (const path of ['/health/ready', '/metrics']) {
        const { status, body } = await ask(path, { host }, { port })
        expect(status, host).toBe(403)
        expect(body).toContain('set admin.token')
        expect(body).not.toMatch(/components|keys|signet_/)
      }
      expect((await ask('/health/live', { host }, { port })).status).toBe(200)
    }
  })

  it('HX06 without a token answers no web page', async () => {
    const { port } = await start()
    for (const site of ['cross-site', 'same-site', 'same-origin', '', 'None'])
      expect((await ask('/metrics', { 'sec-fetch-site': site }, { port })).status, site).toBe(403)
    expect((await ask('/metrics', { 'sec-fetch-site': 'none' }, { port })).status).toBe(200)
  })

  it('HX05 with a token, or on a unix socket, any Host may be asked for', async () => {
    const { port } = await start('s3cret-token')
    const authorization = 'Bearer s3cret-token'
    expect((await ask('/metrics', { host: 'signet.monitoring.svc', authorization }, { port })).status).toBe(200)
    await listening?.close(0)
    const folder = await mkdtemp(join(tmpdir(), 'signet-admin-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const socketPath = join(folder, 'admin.sock')
    await start(undefined, Date.now, socketPath)
    expect((await ask('/metrics', { host: 'signet' }, { socketPath })).status).toBe(200)
  })

  it('has no other routes', async () => {
    const { get } = await start()
    for (const path of ['/', '/health', '/health/ready/', '/token', '/metrics/', '/.env']) {
      expect((await get(path)).status).toBe(404)
    }
  })

  it('allows one check per name', async () => {
    const { ready } = await start()
    ready.register(check('keys', () => Promise.resolve()))
    expect(() => ready.register(check('keys', () => Promise.resolve()))).toThrow('keys')
  })
})
