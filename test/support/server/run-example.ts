import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { packageRoot } from '../../../core/package-root.js'
import { freePort } from '../free-port.js'
import { recipes, type RecipeName } from '../services/recipes.js'

export interface RunningExample extends AsyncDisposable {
  readonly folder: string
  readonly issuer: string
  /** Where the example's other program listens. */
  readonly other: string
  output(): string
  /** Resolves when this was printed. */
  printed(text: string): Promise<void>
}

/** What the examples call ports: the service, its admin listener, the other program. */
const written = [3000, 3001, 3002]

/**
 * Runs `npm start` in a copy of an example, with free ports in the place of those in its files. The packages of the
 * checkout lie one folder above the copy, as they do above `examples`. `change` may make more of a file different.
 */
export const runExample = async (
  name: string,
  change = (_file: string, text: string): string => text,
): Promise<RunningExample> => {
  const above = await mkdtemp(join(tmpdir(), 'signet-example-'))
  await symlink(join(packageRoot, 'node_modules'), join(above, 'node_modules'))
  const folder = join(above, name)
  await mkdir(folder)
  const ports = await Promise.all(written.map(() => freePort()))
  const from = join(packageRoot, 'examples', name)
  const files = (await readdir(from, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(from, join(entry.parentPath, entry.name)))
    .filter((file) => !/^(?:node_modules|target|data)\//.test(file))
  for (const file of files) {
    const text = await readFile(join(from, file), 'utf8')
    const moved = written.reduce((text, port, index) => text.replaceAll(`${port}`, `${ports[index]!}`), text)
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(
      join(folder, file),
      change(file, moved.replace('file:../..', `file:${packageRoot}`).replace(' && mvn -q -B package', '')),
    )
  }
  // `npm run pretest` has compiled it, by the same command.
  if (name in recipes) await symlink(join(recipes[name as RecipeName].folder, 'target'), join(folder, 'target'))
  const child = spawn('npm', ['start'], { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const failed = closed.then(() => Promise.reject(new Error(`npm start ended: ${output}`)))
  failed.catch(() => undefined)
  const printed = async (text: string): Promise<void> => {
    while (!output.includes(text)) await Promise.race([once(child.stdout, 'data'), failed])
  }
  const stop = async (): Promise<void> => {
    // The group: npm, its shell, and what that runs side by side.
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGTERM')
    await closed
    await rm(above, { recursive: true })
  }
  try {
    await printed('"msg":"started"')
  } catch (error) {
    await stop()
    throw error
  }
  const [issuer, , other] = ports.map((port) => `http://localhost:${port}`)
  return { folder, issuer: issuer!, other: other!, output: () => output, printed, [Symbol.asyncDispose]: stop }
}
