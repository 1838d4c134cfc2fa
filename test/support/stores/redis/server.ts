import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { freePort } from '../../free-port.js'

export interface RedisServer extends AsyncDisposable {
  readonly port: number
  /** Where it keeps its files. */
  readonly directory: string
  /** By the server's own port, or through that of a proxy. */
  uri(through?: number): string
  /** As its operator. */
  command(name: string, ...given: readonly (string | number)[]): Promise<unknown>
  /** `kill -9`. */
  kill(): Promise<void>
  /** On the same port after `kill`: empty, unless it keeps its data. */
  start(): Promise<void>
  /** It stops answering; connections stay open. */
  suspend(): void
  resume(): void
}

export interface RedisServerOptions {
  /** Beside those of a server that keeps nothing on its disk. */
  readonly args?: readonly string[]
  /** For a server that takes no plain connections, or asks for a password: the tests' own way to it. */
  readonly operator?: { readonly port?: number; readonly username?: string; readonly password?: string }
}

const program = '/usr/bin/redis-server'
const plain = [
  '--save',
  '',
  '--appendonly',
  'no',
  '--maxmemory-policy',
  'noeviction',
  '--repl-diskless-sync-delay',
  '0',
]

const run = async (port: number, directory: string, args: readonly string[]): Promise<ChildProcess> => {
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory]
  const child = spawn(program, [...place, ...plain, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)
  const output: string[] = []
  const exited = once(child, 'exit').then(() => Promise.reject(new Error(`redis-server ended\n${output.join('\n')}`)))
  exited.catch(() => undefined)
  const ready = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      output.push(line)
      if (/Ready to accept connections|Sentinel ID is/.test(line)) resolve()
    })
  })
  await Promise.race([ready, exited])
  lines.removeAllListeners('line').on('line', () => {})
  return child
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null

/** A Redis on a port and in a folder of its own. Disposing of it stops it and removes the folder. */
export const startRedis = async ({ args = [], operator = {} }: RedisServerOptions = {}): Promise<RedisServer> => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-redis-'))
  const port = await freePort()
  let child = await run(port, directory, args)
  let client: Redis | undefined

  const kill = async () => {
    client?.disconnect()
    client = undefined
    if (!isRunning(child)) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  return {
    port,
    directory,
    uri: (through = port) => `redis://127.0.0.1:${String(through)}`,
    command: (name, ...given) => {
      client ??= new Redis({ host: '127.0.0.1', port, protocol: 2, disableClientInfo: true, ...operator })
      return client.call(name, ...given)
    },
    kill,
    start: async () => {
      child = await run(port, directory, args)
    },
    suspend: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      await kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
