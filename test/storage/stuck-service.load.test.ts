import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { configuration, openCommandLine } from '../support/server/command-line.js'

const workerFile = fileURLToPath(new URL('../support/stores/storage-stuck-worker.ts', import.meta.url))

it('ends a service and a command whose store another process holds', { timeout: 120_000 }, async () => {
  await using cli = await openCommandLine()
  await cli.write('signet.yaml', configuration())
  const running = await cli.serve(['start', '--config', 'signet.yaml'])
  const readiness = async () => (await fetch(new URL('/health/ready', running.admin))).status
  await expect.poll(readiness, { timeout: 20_000 }).toBe(200)

  const path = join(cli.folder, 'data', 'store')
  const holder = spawn(process.execPath, ['--import', 'tsx', workerFile, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(holder, 'exit')
  try {
    await once(holder.stdout, 'data')
    await expect.poll(readiness, { timeout: 20_000 }).toBe(503)
    running.child.kill('SIGTERM')
    // LMDB's thread waits for ever, and an ordinary exit would wait for it.
    expect(await running.ended).toBe('SIGKILL')
    expect(running.output()).toContain('"msg":"stopped"')

    const listed = await cli.run(['clients', 'list', '--config', 'signet.yaml'])
    expect(listed).toMatchObject({ code: 1, stdout: '' })
    expect(listed.stderr).toContain('storage.records: another process has the store open')
  } finally {
    holder.kill('SIGKILL')
    await exit
  }
  expect((await cli.run(['clients', 'list', '--config', 'signet.yaml'])).code).toBe(0)
})
