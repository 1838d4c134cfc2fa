import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { openAudit } from '../../core/observe/audit-file.js'
import { verifyAudit } from '../../core/observe/audit-verify.js'
import { readJsonLines, readLines } from '../../core/operate/json-records.js'
import { noLog } from '../../core/observe/log.js'
import { basic } from '../support/clients/clients.js'
import { startTokenServer } from '../support/server/token-server.js'
import { serviceClient } from '../support/server/server.js'
import { mountSmallDisk } from '../support/stores/small-disk.js'

const disk = mountSmallDisk('256k')
afterEach(() => disk?.free())
afterAll(() => disk?.[Symbol.dispose]())

const outagesIn = async (file: string): Promise<readonly Record<string, unknown>[]> => {
  const found = []
  for await (const line of readJsonLines(file)) if (line['event'] === 'outage') found.push(line)
  return found
}

describe.skipIf(!disk)('F34 the disk of the audit log is full', () => {
  it('is not ready until there is room, and reports the recovery in a line', async () => {
    const file = join(disk!.path, 'service.jsonl')
    // Outages are what this is for.
    await using host = await startTokenServer({
      configure: (written) => ({ ...written, audit: { file } }),
      log: noLog,
    })
    const ready = async () => {
      const reply = await fetch(`${host.server.admin}/health/ready`)
      const { components } = (await reply.json()) as { components: Record<string, unknown> }
      return { status: reply.status, audit: components['audit'] }
    }
    const issue = () => host.token({ grant_type: 'client_credentials' }, { authorization: basic(serviceClient) })
    await expect.poll(ready).toEqual({ status: 200, audit: { status: 'up' } })
    disk!.fill()
    const answers = [await issue(), await issue(), await issue(), await issue(), await issue()]
    expect(answers.at(-1)?.status).toBe(503)
    const message = 'the audit log cannot be written'
    await expect.poll(ready, { timeout: 10_000 }).toEqual({ status: 503, audit: { status: 'down', message } })
    disk!.free()
    await expect.poll(ready, { timeout: 10_000 }).toEqual({ status: 200, audit: { status: 'up' } })
    expect(await outagesIn(file)).toContainEqual(
      expect.objectContaining({ event: 'outage', component: 'audit', since: expect.stringMatching(/Z$/) }),
    )
    expect((await issue()).status).toBe(200)
    expect((await verifyAudit([readLines(file)])).faults).toEqual([])
  })

  it('reports a gap before the next line of any writer, and once', async () => {
    const file = join(disk!.path, 'log.jsonl')
    await using audit = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
    const event = { event: 'login.succeeded', padding: 'x'.repeat(5000) } as const
    await audit.check()
    await audit.record(event)
    disk!.fill()
    await expect(audit.record(event)).rejects.toMatchObject({ component: 'audit', applied: 'no' })
    await expect(audit.check()).rejects.toMatchObject({ component: 'audit', applied: 'no' })
    disk!.free()
    await Promise.all([audit.record(event), audit.record(event), audit.check()])
    await audit.check()
    const found = await outagesIn(file)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ component: 'audit' })
    expect((await verifyAudit([readLines(file)])).faults).toEqual([])
  })
})
