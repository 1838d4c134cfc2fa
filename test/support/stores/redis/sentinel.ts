import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { freePort } from '../../free-port.js'

export interface Sentinel extends AsyncDisposable {
  readonly port: number
  /** Resolves when it has made another server the primary. */
  readonly switched: Promise<void>
}

/** One sentinel, which is a majority by itself, and takes a primary for dead after half a second. */
export const startSentinel = async (name: string, primaryPort: number): Promise<Sentinel> => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-sentinel-'))
  const port = await freePort()
  const file = join(directory, 'sentinel.conf')
  const lines = [
    `port ${String(port)}`,
    'bind 127.0.0.1',
    `dir ${directory}`,
    `sentinel monitor ${name} 127.0.0.1 ${String(primaryPort)} 1`,
    `sentinel down-after-milliseconds ${name} 500`,
    `sentinel failover-timeout ${name} 3000`,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  const child = spawn('/usr/bin/redis-server', [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const output = createInterface(child.stdout)
  const line = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      output.on('line', (text) => {
        if (pattern.test(text)) resolve()
      })
    })
  const switched = line(/\+switch-master/)
  const replicaSeen = line(/\+slave /)
  await replicaSeen
  return {
    port,
    switched,
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
      await rm(directory, { recursive: true, force: true })
    },
  }
}
