/** Workers of one host, of which one proves the keys for all. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { workerPids } from '../support/server/workers.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

/** `signers/local`, which refuses to sign in the process that the file `refusing` names. */
const refusing = `
import { existsSync, readFileSync } from 'node:fs'
import { KeyRefused } from '${join(packageRoot, 'dist/core/api/signer.js')}'
import local from '${join(packageRoot, 'dist/signers/local/index.js')}'
const refuses = () => existsSync('refusing') && readFileSync('refusing', 'utf8') === String(process.pid)
export default {
  ...local,
  create(options, services) {
    const provider = local.create(options, services)
    const open = async (...args) => {
      const signer = await provider.open(...args)
      const sign = (...given) => (refuses() ? Promise.reject(new KeyRefused('refused here')) : signer.sign(...given))
      return { ...signer, sign }
    }
    return { ...provider, open }
  },
}
`

interface Line {
  readonly pid: number
  readonly event: string
}

const auditLines = (): readonly Line[] => {
  const file = join(cli.folder, 'data', 'audit.jsonl')
  if (!existsSync(file)) return []
  // The last line may be half written.
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Line)
}
const count = (event: string, pid: number | undefined): number =>
  auditLines().filter((line) => line.event === event && line.pid === pid).length
const probes = (pid: number | undefined): number => count('key.proved', pid)
const patience = { timeout: 50_000, interval: 200 }

it('only one probes at the interval; another takes over when it ends; none trusts a key that failed for it', async () => {
  const written = configuration('workers: 3\n').replace(
    'use: signers/local, options: { directory: ./data/keys, create: true }',
    'use: ./refusing.mjs, options: { directory: ./data/keys, create: true, probe_secs: 5 }',
  )
  expect(written).toContain('refusing.mjs')
  await cli.write('refusing.mjs', refusing)
  await cli.write('signet.yaml', written)
  const service = await cli.serve(['start', '--config', 'signet.yaml'])
  for (const number of [1, 2, 3]) await service.printed(`"worker":"${String(number)}","msg":"worker started"`)
  const [first, second, third] = workerPids(service)
  // One at its opening, in each of them, and more in the first alone.
  await expect.poll(() => probes(first), patience).toBe(4)
  expect([probes(second), probes(third)]).toEqual([1, 1])

  process.kill(first ?? 0, 'SIGKILL')
  await expect.poll(() => probes(second), patience).toBe(3)
  expect(probes(third)).toBe(1)

  writeFileSync(join(cli.folder, 'refusing'), String(second))
  for (const pid of [second, third]) await expect.poll(() => count('signer.refused', pid), patience).toBe(1)
  // Its own probe passes, because its backend works.
  await expect.poll(() => count('signer.recovered', third), patience).toBe(1)
  rmSync(join(cli.folder, 'refusing'))
  await expect.poll(() => count('signer.recovered', second), patience).toBe(1)
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)
}, 120_000)
