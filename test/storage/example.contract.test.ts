import { execFile, type ExecFileException } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../config/load.js'
import { ConfigurationError } from '../../config/problems.js'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { packageRoot } from '../../core/package-root.js'
import { loadPages } from '../../core/host/load-pages.js'
import { writeExample } from '../support/document.js'
import { freePort } from '../support/free-port.js'
import { startServer } from '../support/server/server.js'

// The adapter of examples/storage-adapter, compiled and tried by the published suite.

let folder: string

const run = (file: string, args: readonly string[], cwd = folder) =>
  new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [file, ...args], { cwd }, (error: ExecFileException | null, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr })
    })
  })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-adapter-'))
  writeExample(folder, 'storage-adapter', ['files.ts', 'check.js'])
  await symlink(join(packageRoot, 'node_modules', '@types'), join(folder, 'node_modules', '@types'))
  const tsc = join(packageRoot, 'node_modules', 'typescript', 'bin', 'tsc')
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--skipLibCheck']
  const options = ['--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--preserveSymlinks', ...strict]
  expect(await run(tsc, [...options, 'files.ts'])).toEqual({ code: 0, stdout: '', stderr: '' })
})
afterAll(() => rm(folder, { recursive: true }))

/** The module with something changed wherever it stands, in a folder of its own. */
const changed = async (from: string, to: string): Promise<string> => {
  const other = await mkdtemp(join(folder, 'changed-'))
  await cp(join(folder, 'check.js'), join(other, 'check.js'))
  const code = await readFile(join(folder, 'files.js'), 'utf8')
  expect(code).toContain(from)
  await writeFile(join(other, 'files.js'), code.replaceAll(from, to))
  return other
}

describe('the adapter of the example', () => {
  it('passes the contract and the races, without a test framework', async () => {
    const { code, stdout, stderr } = await run('check.js', [join(folder, 'data'), '30'])
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^redeem: 30 fair rounds, 0 doubles$/m)
    expect(stdout).toMatch(/(\d{2,}) of \1 rules of version 4/)
    expect(code).toBe(0)
  })

  // `copyFile` writes over what is there.
  it('does not, when it writes without its predicate', async () => {
    const other = await changed('link', 'copyFile')
    const { code, stdout, stderr } = await run('check.js', [join(other, 'data'), '30'], other)
    expect(stdout).toMatch(/^redeem: \d+ fair rounds, [1-9]\d* doubles$/m)
    expect(stderr).toMatch(/one of 50 parallel/)
    expect(code).toBe(1)
  })

  it('does not, when it forgets what expires', async () => {
    const other = await changed('clock() < entry.until', 'true')
    const { code, stderr } = await run('check.js', [join(other, 'data'), '1'], other)
    expect(stderr).toMatch(/one-time records keeps a record until it expires/)
    expect(code).toBe(1)
  })
})

const withAdapter = (use: string, options: unknown) => ({
  configure: (written: Record<string, unknown>) => ({
    ...written,
    storage: { records: { use, options }, ephemeral: { use, options } },
  }),
})

describe('the host', () => {
  it('serves from an adapter', async () => {
    await using server = await startServer(withAdapter(join(folder, 'files.js'), { path: join(folder, 'served') }))
    const ready = async () => (await fetch(`${server.admin}/health/ready`)).json()
    await expect.poll(ready).toMatchObject({ status: 'ready' })
  })

  it('F32 waits for an adapter that cannot be opened yet', async () => {
    const [from, to] = [
      '=> open(path, clock, component),',
      `{
        const { existsSync } = await import('node:fs')
        if (!existsSync(path + '.up')) throw new Unavailable(component, 'no', 'is not up')
        return open(path, clock, component)
      },`,
    ]
    const other = await changed(from, `=> ${to}`)
    const [use, path, port] = [join(other, 'files.js'), join(other, 'data'), await freePort()]
    const storing = withAdapter(use, { path })
    const starting = startServer({
      // Outages are what this is for.
      log: { debug() {}, info() {}, warn() {}, error() {} },
      configure: (written) => ({ ...storing.configure(written), admin: { host: '127.0.0.1', port } }),
    })
    const ready = () =>
      fetch(`http://127.0.0.1:${port}/health/ready`).then(
        async (reply) => ({ status: reply.status, text: await reply.text() }),
        () => undefined,
      )
    await expect.poll(ready).toEqual({ status: 503, text: expect.stringContaining('waiting for storage.records') })
    await writeFile(`${path}.up`, '')
    await using server = await starting
    await expect.poll(ready).toMatchObject({ status: 200 })
    expect((await fetch(`${server.issuer}/jwks.json`)).status).toBe(200)
  })

  const problemsOf = async (use: string, options?: unknown, env: NodeJS.ProcessEnv = {}) => {
    const file = join(folder, 'signet.yaml')
    const storage = { records: { use, ...(options !== undefined && { options }) } }
    await writeFile(file, JSON.stringify({ issuer: 'https://op.example', storage }))
    try {
      await checkConfiguration(file, env, loadPages)
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      return error.problems.filter(({ path }) => path.startsWith('storage'))
    }
    return []
  }

  it('takes it with right options, and tells what is wrong with others', async () => {
    expect(await problemsOf('./files.js', { path: 'x' })).toEqual([])
    expect(await problemsOf('./files.js', { pth: 'x' })).toMatchObject([
      { path: 'storage.records.options.pth', message: 'unknown key; did you mean `path`?' },
    ])
  })

  it('repeats nothing of what comes from outside, whatever the adapter says of its options', async () => {
    const echoing = "path: z.string().superRefine((path, context) => context.addIssue('cannot open ' + path))"
    const other = join(await changed('path: z.string().min(1)', echoing), 'files.js')
    const env = { STORE: 'a-password-of-the-store' }
    expect(await problemsOf(other, { path: { $env: 'STORE' } }, env)).toMatchObject([
      { path: 'storage.records.options.path', message: 'cannot open [secret]' },
    ])
    const { salvaged } = await readConfig(join(folder, 'signet.yaml'), env)
    expect(JSON.stringify(salvaged.storage)).not.toContain(env.STORE)
    expect(await problemsOf(join(folder, 'files.js'), { path: { $env: 'STORE' } }, env)).toEqual([])
  })

  it.each([
    ['contract: 4', 'contract: 3', /passed version 3 of the storage contract; this program needs 4/],
    ['contract: 4,', '', /does not declare which version of the storage contract/],
    ['apiVersion: 1', 'apiVersion: 7', /apiVersion 7/],
    ['contract: 4', "contract: 4, roles: ['ephemeral']", /: only for storage.ephemeral; it may lose/],
    ['contract: 4', "contract: 4, roles: ['records']", /has roles that are not \['ephemeral'\]/],
    ['contract: 4', "contract: 4, roles: 'ephemeral'", /has roles that are not \['ephemeral'\]/],
    ['contract: 4', "contract: 4, findMissing: 'no'", /has a findMissing that is not a function/],
    ['open: async', 'opens: async', /has no open function/],
    ['export default', 'export const other =', /has no default export made with defineStorage/],
  ])('refuses one with %s made %s', async (from, to, message) => {
    const other = await changed(from, to)
    const problems = await problemsOf(join(other, 'files.js'), { path: 'x' })
    expect(problems[0]).toMatchObject({
      path: 'storage.records.use',
      message: expect.stringMatching(message) as string,
    })
  })

  it('refuses what is not there', async () => {
    expect(await problemsOf('./nowhere.js')).toMatchObject([{ path: 'storage.records.use', message: /no such file/ }])
  })
})
