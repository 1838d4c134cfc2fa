import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { packageRoot } from '../../../core/package-root.js'
import { isHostBusy, runInHost, type CommandInput, type Outcome } from './command-host.js'

/** Runs commands of the built program in a folder of its own, and ends whatever of them still runs. */
export interface CommandLine extends AsyncDisposable {
  readonly folder: string
  write(name: string, content: string): Promise<void>
  run(args: readonly string[], given?: CommandInput): Promise<Outcome>
  /** Resolves when it has started. */
  serve(args: readonly string[]): Promise<Service>
  launch(args: readonly string[]): Launched
}

/** Where it listens: from the log, so that the test may listen on port 0. */
interface Started {
  readonly public: string
  readonly admin: string
}

export interface Service extends Started, Launched {}

/** A service that may not have started yet. */
export interface Launched {
  readonly started: Promise<Started>
  readonly child: ChildProcessWithoutNullStreams
  /** All that was printed so far. */
  output(): string
  /** Resolves when this was printed on standard output. */
  printed(text: string): Promise<void>
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** `product` is the folder of the package that runs. */
export const openCommandLine = async (product = packageRoot): Promise<CommandLine> => {
  const folder = await mkdtemp(join(tmpdir(), 'signet-cli-'))
  const main = join(product, 'dist', 'core', 'main.js')
  const children: ChildProcessWithoutNullStreams[] = []
  const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(process.execPath, [main, ...args], { cwd: folder, env: { ...process.env, ...env } })
    children.push(child)
    return child
  }
  const launch = (args: readonly string[]): Launched => {
    const child = start(args)
    const ended = once(child, 'close').then(() => child.exitCode ?? child.signalCode!)
    let output = ''
    const lines = createInterface({ input: child.stdout })
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const logged = new Promise<Started>((resolve) => {
      lines.on('line', (line) => {
        output += `${line}\n`
        const entry = line.startsWith('{') ? JSON.parse(line) : {}
        if (entry.msg === 'started') resolve(entry)
      })
    })
    const failed = ended.then((code) => Promise.reject(new Error(`Ended with ${code}: ${output}`)))
    const printed = async (wanted: string): Promise<void> => {
      while (!output.includes(wanted)) await Promise.race([once(lines, 'line'), failed])
    }
    const started = Promise.race([logged, failed])
    // A caller that waits for neither learns nothing.
    started.catch(() => undefined)
    return { child, started, output: () => output, printed, ended }
  }
  return {
    folder,
    write: (name, content) => writeFile(join(folder, name), content),
    run: async (args, given = {}) => {
      if (product === packageRoot && given.alone !== true && !isHostBusy()) return runInHost(folder, args, given)
      const child = start(args, given.env)
      child.stdin.end(given.input ?? '')
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      return { code: child.exitCode, stdout, stderr }
    },
    launch,
    serve: async (args) => {
      const launched = launch(args)
      const { public: address, admin } = await launched.started
      return { ...launched, public: address, admin }
    },
    [Symbol.asyncDispose]: async () => {
      const running = children.filter((child) => child.exitCode === null && child.signalCode === null)
      for (const child of running) child.kill('SIGKILL')
      await Promise.all(running.map((child) => once(child, 'close')))
      await rm(folder, { recursive: true })
    },
  }
}

/** A whole deployment on ports that the system chooses. `more` is added at the end. */
export const configuration = (more = ''): string => `
issuer: http://localhost:3000
listen: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
scopes_supported: [openid, profile, offline_access, api]
id_token_signing_alg: EdDSA
signers:
  local: { use: signers/local, options: { directory: ./data/keys, create: true } }
keys:
  - { kid: ed-1, alg: EdDSA, signer: local, ref: ed-1 }
plugins:
  - use: plugins/grants/authorization-code
  - use: plugins/grants/refresh-token
  - use: plugins/grants/client-credentials
  - use: plugins/client-auth/none
  - use: plugins/client-auth/client-secret
  - use: plugins/login/password
${more}`

/** The same without sign-ins, which would want a key for RS256 too: `check` and `start` have no warning. */
export const forServices = (more = ''): string => configuration(more).replace('[openid, profile, ', '[')

/** Asks for a token by client credentials. */
export const requestToken = async (service: Service, clientId: string, secret: string): Promise<Response> =>
  fetch(new URL('/token', service.public), {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
