import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../core/package-root.js'
import { configuration, openCommandLine, type CommandLine } from './command-line.js'
import { freePort } from '../free-port.js'

const secret = 'a-secret-for-this-test-of-256-bits'
const client = `clients: [{ client_id: svc, client_secret: ${secret}, grant_types: [client_credentials] }]`

/** A configuration, `signet.yaml`, of a service that prints its audit log, and what to ask it. */
export interface PrintingService extends AsyncDisposable {
  readonly cli: CommandLine
  /** Starts it with this standard output, which is closed here, and waits until it is ready. */
  launch(output: number): Promise<Launched>
  /** The status of the answer; undefined: there was none. */
  issue(): Promise<number | undefined>
  ready(): Promise<number | undefined>
  /** One turn of its event loop. */
  live(): Promise<number | undefined>
}

/** Killed when it is disposed of. */
export interface Launched extends AsyncDisposable {
  readonly child: ChildProcess
  readonly ended: Promise<unknown[]>
}

const statusOf = (url: string, init?: RequestInit): Promise<number | undefined> =>
  fetch(url, init).then(
    async (response) => {
      await response.arrayBuffer()
      return response.status
    },
    () => undefined,
  )

export const openPrintingService = async (): Promise<PrintingService> => {
  const cli = await openCommandLine()
  const [port, adminPort] = [await freePort(), await freePort()]
  const written = configuration(`audit: stdout\n${client}\n`)
    .replace('listen: { host: 127.0.0.1, port: 0 }', `listen: { host: 127.0.0.1, port: ${port} }`)
    .replace('admin: { host: 127.0.0.1, port: 0 }', `admin: { host: 127.0.0.1, port: ${adminPort} }`)
  await cli.write('signet.yaml', written)
  const admin = `http://127.0.0.1:${adminPort}`
  const ready = () => statusOf(`${admin}/health/ready`)
  return {
    cli,
    async launch(output) {
      const main = join(packageRoot, 'dist', 'core', 'main.js')
      const child = spawn(process.execPath, [main, 'start', '--config', 'signet.yaml'], {
        cwd: cli.folder,
        stdio: ['ignore', output, 'inherit'],
      })
      closeSync(output)
      const ended = once(child, 'exit')
      while ((await ready()) !== 200) if (child.exitCode !== null) throw new Error('It did not start.')
      return {
        child,
        ended,
        async [Symbol.asyncDispose]() {
          child.kill('SIGKILL')
          await ended
        },
      }
    },
    issue: () =>
      statusOf(`http://127.0.0.1:${port}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`svc:${secret}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      }),
    ready,
    live: () => statusOf(`${admin}/health/live`),
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  }
}
