import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { startUntilTestEnds } from '../support/server/http-server.js'
import { serviceClient } from '../support/server/server.js'

let child: ChildProcess
let at: { issuer: string; admin: string }
beforeAll(async () => {
  child = fork(fileURLToPath(new URL('../support/server/busy-server.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
  })
  at = ((await once(child, 'message')) as [typeof at])[0]
})
afterAll(async () => {
  const ended = once(child, 'exit')
  child.send('stop')
  expect((await ended)[0]).toBe(0)
})

const token = () =>
  fetch(`${at.issuer}/token`, {
    method: 'POST',
    headers: { authorization: basic(serviceClient) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
const statusOf = async (reply: Promise<Response>): Promise<number> => (await reply).status

describe('F27: an event loop that is late', () => {
  it('rejects work, answers from memory, and recovers by itself', async () => {
    expect(await statusOf(token())).toBe(200)
    child.send('busy')
    await expect.poll(() => statusOf(token()), { timeout: 20_000 }).toBe(503)

    const refused = await token()
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect(refused.headers.get('retry-after')).toMatch(/^[1-5]$/)
    const page = await fetch(`${at.issuer}/authorize?client_id=web`)
    expect(page.status).toBe(503)
    expect(await page.text()).toContain('<h1>Authorization error</h1>')
    for (const path of ['/jwks.json', '/.well-known/openid-configuration'])
      expect(await statusOf(fetch(at.issuer + path))).toBe(200)
    for (const path of ['/health/live', '/health/ready', '/metrics'])
      expect(await statusOf(fetch(at.admin + path))).toBe(200)

    child.send('idle')
    await expect.poll(() => statusOf(token()), { timeout: 20_000 }).toBe(200)
    const metrics = await (await fetch(`${at.admin}/metrics`)).text()
    expect(Number(/^signet_http_shed_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(2)
    expect(metrics).toMatch(/^signet_http_requests_total\{endpoint="\/token",status="503",error="temporarily_un/m)
  })
})

it('F27: tells a device by the error name, and reveals nothing at unknown paths', async () => {
  let shed = 0
  const busy = { lag: { current: 201 }, shed: () => void shed++ }
  const fixture = await startUntilTestEnds({ shedding: busy })
  const post = async (path: string) => {
    const reply = await fetch(fixture.origin + path, { method: 'POST', body: '{}' })
    return { status: reply.status, ...((await reply.json()) as object) }
  }
  const unavailable = { error: 'temporarily_unavailable', error_description: 'The service is temporarily unavailable.' }
  expect(await post('/enrol')).toEqual({ status: 503, ...unavailable, error_code: 'Unavailable' })
  expect(await post('/token')).toEqual({ status: 503, ...unavailable })
  expect(await post('/nothing')).toEqual({ status: 503, ...unavailable })
  expect(shed).toBe(3)
})

it('F27: tells people by a page everywhere, and logs no interaction id', async () => {
  const answered: (string | undefined)[] = []
  const fixture = await startUntilTestEnds({
    shedding: { lag: { current: 201 }, shed: () => undefined },
    observe: ({ endpoint }) => void answered.push(endpoint),
  })
  for (const step of ['login', 'consent']) {
    const page = await fetch(`${fixture.origin}/interaction/a1b2c3/${step}`)
    expect(page.status).toBe(503)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await page.text()).toContain('<h1>Sign-in error</h1>')
  }
  const nowhere = ['/interaction/a1b2c3', '/interaction/{id}/login', '/interaction/a%2Fb/login', '/interaction//login']
  for (const path of nowhere) expect(await statusOf(fetch(fixture.origin + path))).toBe(503)
  await fixture.close(0)
  const pages = ['/interaction/{id}/login', '/interaction/{id}/consent']
  expect(answered).toEqual([...pages, ...nowhere.map(() => undefined)])
  const paths = fixture.log.lines.filter(({ message }) => message === 'request').map(({ fields }) => fields['path'])
  expect(paths.slice(0, 2)).toEqual(pages)
})
