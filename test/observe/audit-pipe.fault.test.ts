import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAudit } from '../../core/observe/audit-file.js'
import { verifyAudit } from '../../core/observe/audit-verify.js'
import type { JsonObject } from '../../core/json.js'
import { openSlowPipe } from '../support/slow-pipe.js'
import { openPrintingService, type PrintingService } from '../support/server/printing-service.js'

let service: PrintingService
beforeAll(async () => {
  service = await openPrintingService()
})
afterAll(() => service[Symbol.asyncDispose]())

const verify = (text: string) =>
  verifyAudit([
    (async function* () {
      yield* text.split('\n')
    })(),
  ])

const issued = (text: string): number => text.split('"event":"token.issued"').length - 1

describe('the audit log on a pipe', () => {
  it('has every line whole, beside the log, however slowly they are read', async () => {
    using pipe = openSlowPipe(join(service.cli.folder, 'slow'))
    await using launched = await service.launch(pipe.end)
    let answers = 0
    let enough = false
    const ask = async (): Promise<void> => {
      while (!enough) if ((await service.issue()) === 200) answers++
    }
    const asking = Promise.all(Array.from({ length: 64 }, ask))
    // The pipe stays full: nothing is taken from it while anybody gets an answer.
    for (let taken = 0; taken < 512 * 1024;) {
      const before = answers
      for (let turn = 0; turn < 3; turn++) await service.live()
      if (answers === before) taken += pipe.take(3000)
    }
    enough = true
    let ended = false
    const end = asking.then(async () => {
      launched.child.kill('SIGTERM')
      return await launched.ended
    })
    void end.finally(() => (ended = true))
    for (; !ended; await new Promise(setImmediate)) pipe.drain()
    pipe.drain()
    expect(await end).toEqual([0, null])
    const lines = pipe.text().trimEnd().split('\n')
    const logged = lines.filter((line) => 'level' in (JSON.parse(line) as JsonObject))
    expect(logged.length).toBeGreaterThan(100)
    expect(answers).toBeGreaterThan(0)
    expect(issued(pipe.text())).toBeGreaterThanOrEqual(answers)
    expect(await verify(pipe.text())).toMatchObject({ faults: [], torn: [] })
  })

  it('F34 refuses while nothing reads, resumes when something does, and does not block shutdown', async () => {
    using pipe = openSlowPipe(join(service.cli.folder, 'hung'))
    await using launched = await service.launch(pipe.end)
    let answers = 0
    const issueUntilRefused = async (): Promise<void> => {
      let status = await service.issue()
      for (; status === 200; status = await service.issue()) answers++
      expect(status).toBe(503)
    }
    await issueUntilRefused()
    expect(new Set(await Promise.all(Array.from({ length: 50 }, service.issue)))).toEqual(new Set([503]))
    await expect.poll(service.ready, { timeout: 10_000 }).toBe(503)
    pipe.drain()
    const readAndAsk = () => {
      pipe.drain()
      return service.ready()
    }
    await expect.poll(readAndAsk, { timeout: 10_000 }).toBe(200)
    await issueUntilRefused()
    launched.child.kill('SIGTERM')
    expect(await launched.ended).toEqual([0, null])
    pipe.drain()
    expect(issued(pipe.text())).toBeGreaterThanOrEqual(answers)
    expect(pipe.text()).toContain('"event":"outage","component":"audit"')
    // What was under way at the end may be torn.
    expect(await verify(pipe.text())).toMatchObject({ faults: [] })
  })
  it('cannot be configured as a file, because its reader could block the service', async () => {
    const file = join(service.cli.folder, 'no-file')
    using pipe = openSlowPipe(file)
    await expect(openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)).rejects.toThrow(
      'audit.file is a pipe',
    )
    closeSync(pipe.end)
  })
})
