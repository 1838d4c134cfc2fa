import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readFile, readdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { codeBlock, readDocument, runCommands } from '../document.js'
import { freePort } from '../free-port.js'
import { openCommandLine, type Service } from '../server/command-line.js'
import { recipes, type RecipeName } from '../services/recipes.js'

/** A page of `docs/recipes` as its reader has it: a Signet for development, the client, the application's files. */
export interface Recipe extends AsyncDisposable {
  readonly folder: string
  readonly issuer: string
  /** Where the application listens. */
  readonly origin: string
  /** Where the page has an API, or a site behind the application. */
  readonly api: string
  readonly service: Service
  /** What the registration printed; empty for a public client. */
  readonly secret: string
  /** What the page has under a name, with the ports of this run. */
  block(name: string): string
  /** The JSON that the page shows as an answer. */
  readonly answer: unknown
  /** What the audit log has of an event. */
  events(name: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Runs commands of the page to their end, and resolves with what they printed. */
  shell(commands: string): Promise<string>
  /** Runs the block `run`, and resolves when the application prints this. */
  start(printed: string | RegExp, env?: NodeJS.ProcessEnv): Promise<void>
  /** What the application has printed. */
  output(): string
}

/** What documents call ports: the service, the application, its API. */
const written = ['3000', '3002', '8081']

export const person = { username: 'alice', password: 'only-for-this-laptop' }
export const subject = '248289761001'

const linkEach = async (from: string, to: string): Promise<void> => {
  // On another file system a hard link cannot be.
  await promisify(execFile)('bash', ['-c', 'cp -al "$0" "$1" || cp -a "$0" "$1"', from, to])
}

interface Options {
  readonly seconds?: number
  readonly hardLinked?: boolean
  readonly config?: string
  /** Makes `my.yaml`, which the page leaves to its reader, of that for a laptop. */
  readonly own?: (laptop: string) => string
}

/**
 * Starts Signet and registers the client. Access tokens last 20 seconds, so that an application that renews what has
 * less than half a minute does so at each call; or as many as are given. `files` are blocks of the page. Its packages
 * are a symbolic link, or `hardLinked` for a bundler that leaves its folder for nothing. `config` is what Signet starts
 * with, if that is a block of the page.
 */
export const openRecipe = async (
  name: string,
  files: readonly string[],
  { seconds = 20, hardLinked = false, config = 'laptop.yaml', own }: Options = {},
): Promise<Recipe> => {
  const cli = await openCommandLine()
  const running: ChildProcess[] = []
  const page = `docs/recipes/${name}.md`
  const ports = new Map<string, string>()
  for (const port of written) ports.set(port, String(await freePort()))
  const placed = (text: string) =>
    text.replaceAll(/(?<!\d)(?:3000|3002|8081)(?!\d)/g, (port) => ports.get(port) ?? port)
  const block = (title: string) => placed(codeBlock(page, title))
  const packages = name in recipes ? recipes[name as RecipeName].folder : undefined
  const bring = hardLinked ? linkEach : symlink
  for (const entry of packages === undefined ? [] : await readdir(packages, { withFileTypes: true }))
    await (entry.isDirectory() ? bring : copyFile)(join(entry.parentPath, entry.name), join(cli.folder, entry.name))
  const laptop = placed(readDocument('config/examples/laptop.yaml'))
  const short = laptop.replace('access_token_ttl_secs: 300', `access_token_ttl_secs: ${seconds}`)
  const base = `${short}\nadmin: { host: 127.0.0.1, port: 0 }\n`
  await cli.write('laptop.yaml', base)
  if (own !== undefined) await cli.write('my.yaml', own(base))
  for (const file of files) {
    await mkdir(dirname(join(cli.folder, file)), { recursive: true })
    await cli.write(file, block(file))
  }

  const shell = (commands: string): Promise<string> => runCommands(cli.folder, commands)
  let output = ''
  const [issuer, origin, api] = [...ports.values()].map((port) => `http://localhost:${port}`)
  const stop = async (): Promise<void> => {
    for (const child of running) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const closed = once(child, 'close')
      // The group: the shell, and what it runs.
      process.kill(-child.pid!, 'SIGTERM')
      await closed
    }
    await cli[Symbol.asyncDispose]()
  }
  try {
    const service = await cli.serve(['start', '--config', config])
    const registered = readDocument(page).includes('\n# register\n') ? await shell(block('register')) : ''
    const [, secret = ''] = /^client_secret +(\S+)/m.exec(registered) ?? []
    return {
      ...{ folder: cli.folder, issuer: issuer!, origin: origin!, api: api!, service, secret, block, shell },
      answer: JSON.parse(/^```json\n([\s\S]*?)^```$/m.exec(readDocument(page))?.[1] ?? 'null'),
      events: async (event) =>
        (await readFile(join(cli.folder, 'data/audit.jsonl'), 'utf8'))
          .split('\n')
          .filter((line) => line.includes(`"event":"${event}"`))
          .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>),
      start: async (printed, env = {}) => {
        const child = spawn('bash', ['-ec', block('run')], {
          cwd: cli.folder,
          // With CI set, some colour their output without a terminal, and the text that we wait for is in pieces.
          env: { ...process.env, NO_COLOR: '1', CLIENT_SECRET: secret, ...env },
          detached: true,
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        running.push(child)
        const isThere = () => (typeof printed === 'string' ? output.includes(printed) : printed.test(output))
        const started = new Promise<void>((resolve) => {
          for (const stream of [child.stdout, child.stderr])
            stream.on('data', (chunk) => {
              output += String(chunk)
              if (isThere()) resolve()
            })
        })
        const closed = once(child, 'close').then(() => Promise.reject(new Error(`The application ended: ${output}`)))
        closed.catch(() => undefined)
        await Promise.race([started, closed])
      },
      output: () => output,
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
