import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createInterface } from 'node:readline'
import { packageRoot } from '../../../core/package-root.js'
import { startPackageRegistry } from '../services/package-registry.js'
import type { Outcome } from './command-host.js'

/** What its user has of a deployment: an empty folder, a shell, and a checkout. */
export interface NewProject extends AsyncDisposable {
  readonly folder: string
  /** Runs lines of a document, in which the checkout is called `/path/to/signet`, and stops at the first that fails. */
  run(lines: string): Promise<Outcome>
  /** Resolves with the address when the command serves, and with what it had printed. */
  serve(
    command: string,
  ): Promise<{ readonly public: string; printed(text: string): Promise<string>; stop(): Promise<void> }>
}

// What was built comes along, so that `npm pack` builds only what has changed.
const left = new Set(['.git', 'bench', 'data', 'node_modules', 'test'])

export const openNewProject = async (): Promise<NewProject> => {
  const above = await mkdtemp(join(tmpdir(), 'signet-project-'))
  const [checkout, folder] = [join(above, 'checkout'), join(above, 'project')]
  await mkdir(folder)
  await cp(packageRoot, checkout, {
    recursive: true,
    filter: (path) => !left.has(path.slice(packageRoot.length + 1)),
  })
  await symlink(join(packageRoot, 'node_modules'), join(checkout, 'node_modules'))
  const registry = await startPackageRegistry()
  // npm gives its own settings to what it runs, and this may be run by npm.
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) && name !== 'SIGNET_CONFIG')
  const env = {
    ...Object.fromEntries(inherited),
    npm_config_registry: registry.url,
    npm_config_cache: join(above, 'cache'),
    npm_config_userconfig: join(above, 'npmrc'),
    npm_config_fetch_retries: '0',
    npm_config_audit: 'false',
    npm_config_update_notifier: 'false',
  }
  const running: ChildProcess[] = []
  const start = (lines: string) => {
    const script = lines.replaceAll('/path/to/signet', checkout)
    const child = spawn('sh', ['-ec', script], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    running.push(child)
    return child
  }
  /** The group: the shell, npx, and what that runs. */
  const stop = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const closed = once(child, 'close')
    process.kill(-child.pid!, 'SIGTERM')
    await closed
  }
  return {
    folder,
    run: async (lines) => {
      const child = start(lines)
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      return { code: child.exitCode, stdout, stderr }
    },
    serve: async (command) => {
      const child = start(command)
      const failed = once(child, 'close').then(() => Promise.reject(new Error(`${command} ended: ${output}`)))
      failed.catch(() => undefined)
      let output = ''
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
      const lines = createInterface({ input: child.stdout }).on('line', (line) => (output += `${line}\n`))
      const printed = async (wanted: string): Promise<string> => {
        while (!output.includes(wanted)) await Promise.race([once(lines, 'line'), failed])
        return output
      }
      const line = (await printed('"msg":"started"')).split('\n').find((one) => one.includes('"msg":"started"'))!
      return { public: (JSON.parse(line) as { public: string }).public, printed, stop: () => stop(child) }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map(stop))
      await registry[Symbol.asyncDispose]()
      await rm(above, { recursive: true })
    },
  }
}
