import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { verifyAudit } from '../../core/observe/audit-verify.js'
import { readLines } from '../../core/operate/json-records.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'
import type { Outcome } from '../support/server/command-host.js'
import { mountSmallDisk } from '../support/stores/small-disk.js'

const disk = mountSmallDisk('64k')
const file = disk && join(disk.path, 'audit.jsonl')

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
  await cli.write('whole.yaml', configuration())
  await cli.run(['migrate', '--config', 'whole.yaml'])
  await cli.write('full.yaml', configuration('audit: { file: /dev/full }'))
  await cli.write('small.yaml', configuration(`audit: { file: ${file} }`))
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  disk?.[Symbol.dispose]()
})

const client = ['--client-id', 'shop', '--grant-type', 'client_credentials']
const run = (config: string, ...words: string[]): Promise<Outcome> =>
  cli.run([...words, '--config', `${config}.yaml`], { input: 'correct horse battery staple' })
const unwritten = { code: 1, stdout: '', stderr: 'audit: the audit log cannot be written\n' }

describe('a command, while the audit log cannot be written', () => {
  beforeEach(async () => {
    await run('whole', 'clients', 'remove', 'shop')
    disk?.free()
    if (file) rmSync(file, { force: true })
  })

  it('changes nothing', async () => {
    expect(await run('full', 'clients', 'add', ...client)).toEqual(unwritten)
    expect(await run('full', 'accounts', 'add', 'bob', '--password-stdin')).toEqual(unwritten)
    expect(JSON.parse((await run('whole', 'clients', 'list', '--json')).stdout)).toEqual([])
    expect(JSON.parse((await run('whole', 'accounts', 'list', '--json')).stdout)).toEqual([])
    await run('whole', 'clients', 'add', ...client)
    expect(await run('full', 'clients', 'remove', 'shop')).toEqual(unwritten)
    expect((await run('whole', 'clients', 'show', 'shop')).code).toBe(0)
  })

  it('shows what it made when only the beginning could be recorded, and says so', { skip: !file }, async () => {
    // The last page of the file has room for one line.
    const line = '{"v":1,"seq":1,"event":"outage"}\n'
    writeFileSync(file!, line)
    appendFileSync(file!, `${' '.repeat(4096 - line.length - 351)}\n`)
    disk!.fill()
    const added = await run('small', 'clients', 'add', ...client)
    expect(added).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^client_secret +[\w-]{43} /m),
      stderr: expect.stringContaining('The change was made, but the audit log has only its beginning.'),
    })
    expect((await run('whole', 'clients', 'show', 'shop')).code).toBe(0)
    expect(readFileSync(file!, 'utf8')).toContain(
      '"event":"administration.begun","action":"client.add","client_id":"shop"',
    )
    disk!.free()
    expect((await run('small', 'clients', 'remove', 'shop')).code).toBe(0)
    expect((await verifyAudit([readLines(file!)])).torn).toHaveLength(1)
  })
})
