import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { iso, key, kidOf, startReloadServer, type Json, type ReloadServer } from '../support/server/reloading.js'

const start = Date.parse('2026-11-20T00:00:00Z')
const hour = 3_600_000
let now: number
let server: ReloadServer | undefined
afterEach(() => server?.[Symbol.asyncDispose]())

const open = async (): Promise<ReloadServer> => {
  now = start
  return (server = await startReloadServer({ clock: () => now }))
}
const old = key('es256')
const withKeys =
  (...keys: readonly Json[]) =>
  (configuration: Json): Json => ({ ...configuration, keys })
const eventsOf = async (running: ReloadServer) =>
  (await running.audit())
    .filter(({ event }) => /^key\.(published|activated|retired|withdrawn)$/.test(String(event)))
    .map(({ event, kid }) => `${String(event)} ${String(kid)}`)

describe('a rotation without a restart', () => {
  it('publishes, activates and retires by the clock; every token verifies; the audit log records it', async () => {
    const running = await open()
    expect(await kidOf(await running.token())).toBe('es256')
    await running.edit(withKeys(key('next', { not_before: iso(start + 2 * hour) }), old))
    expect(await running.reload()).toMatchObject({ status: 200, body: { changes: { keys: { added: ['next'] } } } })
    expect(await running.kids()).toEqual(['next', 'es256'])
    expect(await kidOf(await running.token())).toBe('es256')
    now = start + 2 * hour
    expect(await kidOf(await running.token())).toBe('next')
    await expect
      .poll(() => eventsOf(running))
      .toEqual(['key.published es256', 'key.activated es256', 'key.published next', 'key.activated next'])

    const { access_token } = (await (await running.token()).json()) as { access_token: string }
    const end = now + 60_000
    await running.edit(withKeys(key('next', { not_before: iso(start + 2 * hour) }), { ...old, not_after: iso(end) }))
    expect((await running.reload()).status).toBe(200)
    now = end
    await expect.poll(() => eventsOf(running)).toContain('key.retired es256')
    expect(await running.kids()).toEqual(['next', 'es256'])
    const keys = createRemoteJWKSet(new URL(`${running.issuer}/jwks.json`))
    await jwtVerify(access_token, keys, { currentDate: new Date(now), issuer: running.issuer })
    now = end + 2 * hour
    await expect.poll(() => eventsOf(running)).toContain('key.withdrawn es256')
    expect(await running.kids()).toEqual(['next'])
    await running.edit(withKeys(key('next', { not_before: iso(start + 2 * hour) })))
    expect(await running.reload()).toMatchObject({ status: 200, body: { changes: { keys: { removed: ['es256'] } } } })
  })

  it('refuses a key that relying parties cannot know yet, and reports when it may sign', async () => {
    const running = await open()
    await running.edit(withKeys(key('fast'), old))
    expect(await running.reload()).toEqual({
      status: 400,
      body: {
        status: 'refused',
        problems: [{ path: 'keys[0].not_before', message: expect.stringContaining(`from ${iso(start + hour)}`) }],
      },
    })
    expect(await running.kids()).toEqual(['es256'])
    await running.edit(withKeys(key('fast', { not_before: iso(start + hour - 1) }), old))
    expect((await running.reload()).status).toBe(400)
    await running.edit(withKeys(key('fast', { not_before: iso(start + hour) }), old))
    expect((await running.reload()).status).toBe(200)
    // Published now: it may not sign earlier than it was said to, and exactly as early.
    now = start + hour / 2
    await running.edit(withKeys(key('fast', { not_before: iso(now) }), old))
    expect((await running.reload()).status).toBe(400)
    now = start + hour
    await running.edit(withKeys(key('fast'), old))
    expect((await running.reload()).status).toBe(200)
    expect(await kidOf(await running.token())).toBe('fast')
  })

  it('lets a key sign at once if it is configured to', async () => {
    const running = await open()
    await running.edit(withKeys(key('fast', { allow_early: true }), old))
    expect((await running.reload()).status).toBe(200)
    expect(await kidOf(await running.token())).toBe('fast')
    // What has signed is not held back again.
    await running.edit(withKeys(key('fast'), old))
    expect((await running.reload()).status).toBe(200)
    expect(await kidOf(await running.token())).toBe('fast')
  })

  it('keeps a key that has signed, unless the removal is forced', async () => {
    const running = await open()
    await running.edit(withKeys(key('new', { allow_early: true })))
    const problem = { path: 'keys', message: expect.stringContaining('es256 has been removed') }
    expect(await running.reload()).toMatchObject({ status: 400, body: { problems: [problem] } })
    expect(await running.kids()).toEqual(['es256'])
    await running.edit(withKeys(key('new', { allow_early: true }), { ...old, not_after: iso(start - hour) }))
    const shortened = { path: 'keys[1].not_after', message: expect.stringContaining(iso(start + 3610_000)) }
    expect(await running.reload()).toMatchObject({ status: 400, body: { problems: [shortened] } })

    await running.edit(withKeys(key('new', { allow_early: true })))
    expect(await running.reload({ force: 'true' })).toMatchObject({ status: 200, body: { forced: [problem] } })
    expect(await running.kids()).toEqual(['new'])
    await expect.poll(() => eventsOf(running)).toContain('key.withdrawn es256')
    // Back in the file, it is unknown to those who have read the key set meanwhile.
    await running.edit(withKeys(key('new'), old))
    expect(await running.reload()).toMatchObject({ status: 400, body: { problems: [{ path: 'keys[1].not_before' }] } })
  })

  it('removes a key that has never signed', async () => {
    const running = await open()
    await running.edit(withKeys(old, key('next', { not_before: iso(start + 2 * hour) })))
    expect((await running.reload()).status).toBe(200)
    await running.edit(withKeys(old))
    expect((await running.reload()).status).toBe(200)
    expect(await running.kids()).toEqual(['es256'])
  })
})
