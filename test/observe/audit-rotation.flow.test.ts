import { execFile } from 'node:child_process'
import { chmod, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openAudit } from '../../core/observe/audit-file.js'
import { verifyAudit } from '../../core/observe/audit-verify.js'
import { readLines } from '../../core/operate/json-records.js'
import { openCommandLine, configuration, requestToken } from '../support/server/command-line.js'
import { describeWith } from '../support/services/describe-with.js'

type Line = Readonly<Record<string, unknown>>

const run = promisify(execFile)
const read = async (file: string): Promise<readonly Line[]> =>
  (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
const whole = { faults: [], torn: [], lostHeads: [] }

it('the audit log continues in a new file, and the chain spans both', async () => {
  await using cli = await openCommandLine()
  const file = join(cli.folder, 'audit.jsonl')
  const moved = `${file}.1`
  await using audit = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
  await using neighbour = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
  const write = (index: number) => audit.record({ event: 'login.succeeded', index })
  for (let index = 0; index < 5; index++) await write(index)
  await neighbour.record({ event: 'login.succeeded' })
  await audit.reopen()
  expect(await read(file)).toHaveLength(6)
  await rename(file, moved)
  const busy = Array.from({ length: 300 }, (_, index) => write(index + 5))
  await Promise.all([audit.reopen(), neighbour.reopen(), ...busy, ...busy.map((_, index) => write(index + 305))])
  await write(605)
  const all = [...(await read(moved)), ...(await read(file))]
  const written = all.flatMap(({ index }) => (index === undefined ? [] : [Number(index)]))
  expect(written.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 606 }, (_, index) => index))
  expect(all.filter(({ event }) => event === 'audit.continued')).toMatchObject([
    ...Array.from({ length: 2 }, () => ({ file: 'audit.jsonl', head: expect.any(String) })),
  ])
  expect(await verifyAudit([moved, file].map(readLines))).toMatchObject(whole)
  expect(await verifyAudit([file].map(readLines), { partial: true })).toMatchObject(whole)
  const cut = (await readFile(moved, 'utf8')).trim().split('\n').slice(0, -1)
  await writeFile(moved, `${cut.join('\n')}\n`)
  expect((await verifyAudit([moved, file].map(readLines))).faults).toContainEqual(
    expect.objectContaining({ kind: 'missing' }),
  )
})

it('a file that cannot be reopened leaves the audit log unchanged', async () => {
  await using cli = await openCommandLine()
  const file = join(cli.folder, 'audit.jsonl')
  await using audit = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
  await audit.record({ event: 'login.succeeded' })
  await rename(file, `${file}.1`)
  await run('mkdir', [file])
  await expect(audit.reopen()).rejects.toMatchObject({ component: 'audit', applied: 'no' })
  await audit.record({ event: 'login.succeeded' })
  expect(await read(`${file}.1`)).toHaveLength(2)
})

describeWith('logrotate', 'deploy/logrotate', (logrotate) => {
  it('rotates under load without a loss, in every worker', async () => {
    await using cli = await openCommandLine()
    const client =
      'workers: 2\nclients: [{ client_id: svc, client_secret: svc-secret-of-more-than-256-bits-for-tests, grant_types: [client_credentials], scope: api }]\n'
    await cli.write('signet.yaml', configuration(client))
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    const file = join(cli.folder, 'data', 'audit.jsonl')
    const shipped = await readFile(new URL('../../deploy/logrotate', import.meta.url), 'utf8')
    const config = shipped
      .replace('/var/lib/signet/audit.jsonl', file)
      .replace(/systemctl kill .*/, `kill -HUP ${String(service.child.pid)}`)
    await writeFile(join(cli.folder, 'logrotate.conf'), `su root root\n${config}`)
    await chmod(join(cli.folder, 'logrotate.conf'), 0o644)
    let answered = 0
    const ask = async () => {
      const { status } = await requestToken(service, 'svc', 'svc-secret-of-more-than-256-bits-for-tests')
      if (status === 200) answered++
    }
    const files = async () => (await readdir(join(cli.folder, 'data'))).filter((name) => name.startsWith('audit.jsonl'))
    const continued = async () =>
      new Set(
        (await read(file).catch(() => [])).flatMap(({ event, pid }) => (event === 'audit.continued' ? [pid] : [])),
      )
    for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 8 }, ask))
    const asked = Promise.all(Array.from({ length: 24 }, ask))
    await run(logrotate, ['--force', '--state', join(cli.folder, 'state'), join(cli.folder, 'logrotate.conf')])
    await asked
    await expect.poll(async () => (await continued()).size, { timeout: 30_000 }).toBe(2)
    await Promise.all(Array.from({ length: 8 }, ask))
    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)
    expect(await files()).toEqual(['audit.jsonl', 'audit.jsonl.1'])
    const logs = [`${file}.1`, file]
    const issued = (await Promise.all(logs.map(read))).flat().filter(({ event }) => event === 'token.issued')
    expect([answered, issued.length]).toEqual([64, 64])
    const verified = await cli.run(['audit', 'verify', ...logs])
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('Every chain is complete.') })
  })
})
