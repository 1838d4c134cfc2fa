import { openSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../core/observe/audit-verify.js'
import { readLines } from '../../core/operate/json-records.js'
import { mountSmallDisk } from '../support/stores/small-disk.js'
import { openPrintingService, type PrintingService } from '../support/server/printing-service.js'

const disk = mountSmallDisk('256k')
let service: PrintingService
beforeAll(async () => {
  service = await openPrintingService()
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  disk?.[Symbol.dispose]()
})

describe('the audit log on standard output', () => {
  it('F34 refuses while the disk behind it is full, and resumes when there is space', { skip: !disk }, async () => {
    const { issue, ready } = service
    await using launched = await service.launch(openSync(join(disk!.path, 'output'), 'a'))
    expect(await issue()).toBe(200)
    disk!.fill()
    await expect.poll(issue).toBe(503)
    await expect.poll(ready, { timeout: 10_000 }).toBe(503)
    disk!.free()
    await expect.poll(ready, { timeout: 10_000 }).toBe(200)
    expect(await issue()).toBe(200)
    launched.child.kill('SIGTERM')
    expect(await launched.ended).toEqual([0, null])
    expect((await verifyAudit([readLines(join(disk!.path, 'output'))])).faults).toEqual([])
  })

  it('ends the service with an error when its reader is gone', async () => {
    const { cli, issue } = service
    const launched = await cli.serve(['start', '--config', 'signet.yaml'])
    expect(await issue()).toBe(200)
    launched.child.stdout.destroy()
    await expect.poll(issue).toBe(undefined)
    expect(await launched.ended).toBe(1)
    expect(launched.output()).toContain('Nobody reads standard output any longer')
  })
})
