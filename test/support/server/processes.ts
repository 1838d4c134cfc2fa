import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, request, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { stringify } from 'yaml'
import { loadConfig } from '../../../config/load.js'
import { packageRoot } from '../../../core/package-root.js'
import { freePort } from '../free-port.js'
import { testConfiguration } from './server.js'
import { openTestRecords, prepareStores } from '../stores/test-stores.js'
import { createMint, type Mint } from '../forge/mint.js'

type Json = Record<string, unknown>

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Json
}

/** Connections that stay open: a race is of requests, not of handshakes. */
export const createClient = (maxSockets = 64) => {
  const agent = new Agent({ keepAlive: true, maxSockets })
  return {
    /** A POST of a form. Rejects when the server goes away before it has answered. */
    post: (url: string, form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
      new Promise<Answer>((resolve, reject) => {
        const body = new URLSearchParams(form).toString()
        const type = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length }
        const sent = request(url, { method: 'POST', agent, headers: { ...type, ...headers } }, (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (chunk: string) => (text += chunk))
          response.on('end', () => {
            const { statusCode: status = 0, headers } = response
            resolve({ status, headers, body: JSON.parse(text) as Json })
          })
          response.on('error', reject)
        })
        sent.on('error', reject)
        sent.end(body)
      }),
    close: () => agent.destroy(),
  }
}

export type Client = ReturnType<typeof createClient>

export interface SignetProcess {
  /** Where this process listens; the issuer may be another port. */
  readonly origin: string
  /** All that it has printed. */
  output(): string
  /** Resolves when the process has ended. */
  stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
}

const parse = (line: string): Json | undefined => {
  try {
    return JSON.parse(line) as Json
  } catch {
    return undefined
  }
}

/** Starts the built product; resolves when it serves. */
const startProcess = async (
  args: readonly string[],
  port: number,
  more: Readonly<Record<string, string>>,
): Promise<SignetProcess> => {
  const env = { ...process.env, ...more }
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: packageRoot, env })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const exited = once(child, 'exit')
  const started = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      output += `${line}\n`
      if (line.includes('"started"')) resolve()
    })
  })
  await Promise.race([
    started,
    exited.then(([code, signal]) => {
      throw new Error(`the server ended with ${String(code ?? signal)}: ${output}`)
    }),
  ])
  exited.catch(() => undefined)
  return {
    origin: `http://127.0.0.1:${port}`,
    output: () => output,
    async stop(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      await exited
    },
  }
}

export interface Deployment extends AsyncDisposable {
  readonly issuer: string
  readonly directory: string
  readonly mint: Mint
  /**
   * One more process on the same store; the first listens where the issuer is. `args` are those of Node, by default the
   * built product's `start`; `env` is added.
   */
  start(args?: (file: string) => readonly string[], env?: Readonly<Record<string, string>>): Promise<SignetProcess>
  /** Its lines. So many may be half: each time a process is killed one can be. */
  audit(mostHalf?: number): Promise<readonly Json[]>
}

const product = (file: string): readonly string[] => [
  join(packageRoot, 'dist', 'core', 'main.js'),
  'start',
  '--config',
  file,
]

/** One store, one key, one issuer, and as many processes as are started; disposing of it ends them all. */
export const createDeployment = async (configure: (written: Json) => Json = (written) => written) => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-processes-'))
  const issuerPort = await freePort()
  const written = configure(testConfiguration(directory, issuerPort))
  const first = join(directory, 'signet.yaml')
  await writeFile(first, stringify(written))
  await prepareStores(await loadConfig(first, process.env))
  const store = await openTestRecords(join(directory, 'store'), Date.now)
  const processes: SignetProcess[] = []
  const deployment: Deployment = {
    issuer: String(written['issuer']),
    directory,
    mint: createMint(store),
    async start(args = product, env = {}) {
      const port = processes.length === 0 ? issuerPort : await freePort()
      const file = join(directory, `signet-${port}.yaml`)
      await writeFile(file, stringify({ ...written, listen: { host: '127.0.0.1', port } }))
      const started = await startProcess(args(file), port, env)
      processes.push(started)
      return started
    },
    async audit(mostHalf = 0) {
      const lines = (await readFile(join(directory, 'audit.jsonl'), 'utf8')).split('\n').filter((line) => line !== '')
      const whole = lines.map(parse).filter((line) => line !== undefined)
      if (lines.length - whole.length > mostHalf) throw new Error('The audit log has half lines')
      return whole
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((running) => running.stop('SIGKILL')))
      await store[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
  return deployment
}
