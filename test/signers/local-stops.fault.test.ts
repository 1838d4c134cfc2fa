/** A process that is killed before and after each call that makes the file of a key. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import local from '../../signers/local/index.js'
import { signerServices } from '../support/signers/services.js'

const never = new AbortController().signal
const tags = { deployment: 'https://id.example', slot: 'es', kid: 'es-1' }

/** Kills its process before call number STOP of the file system, counted from 0; files count their own calls. */
const program = (signer: string): string => `
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
let calls = 0
const counted = (work) => function (...args) {
  if (calls++ === Number(process.env.STOP)) process.kill(process.pid, 'SIGKILL')
  return work.apply(this, args)
}
const { open } = fs
fs.open = counted(async (...args) => {
  const file = await open(...args)
  for (const name of ['writeFile', 'sync', 'close']) file[name] = counted(file[name])
  return file
})
for (const name of ['mkdir', 'stat', 'link', 'unlink']) fs[name] = counted(fs[name])
syncBuiltinESMExports()
const { default: local } = await import(${JSON.stringify(signer)})
const provider = await local.create({ directory: process.env.KEYS, create: false }, { clock: Date.now })
await provider.create('es-1', 'ES256', new AbortController().signal)
await new Promise((resolve) => process.stdout.write('made', resolve))
`

const make = (program: string, directory: string, stop: number): Promise<string> =>
  new Promise((resolve) => {
    const env = { ...process.env, KEYS: directory, STOP: String(stop) }
    execFile(process.execPath, [program], { env }, (error, stdout) => resolve(error?.signal ?? stdout))
  })

it('KR02 leaves one key at most and nothing beside it, wherever it was killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signet-stops-'))
  const file = join(folder, 'make.mjs')
  await writeFile(file, program(pathToFileURL(join(packageRoot, 'dist/signers/local/index.js')).href))
  const left = new Set<string>()
  let stop = 0
  try {
    for (; ; stop++) {
      const directory = join(folder, String(stop))
      const outcome = await make(file, directory, stop)
      const before = await readdir(directory).catch(() => [])
      left.add(before.map((name) => (name === 'es-1' ? 'key' : 'temporary')).join())
      const provider = await local.create({ directory, create: false }, signerServices)
      const [found] = (await provider.find?.('es-1', never, tags)) ?? []
      const ref = found ?? (await provider.create?.('es-1', 'ES256', never, tags))
      expect(ref, `stop ${String(stop)}`).toBe('es-1')
      expect(await readdir(directory)).toEqual(['es-1'])
      expect((await provider.open('es-1', 'ES256', never)).alg).toBe('ES256')
      if (outcome === 'made') break
      expect(outcome).toBe('SIGKILL')
    }
    // All that a kill can leave was seen: nothing, a file without a name, both, and the key alone.
    expect([...left].toSorted()).toEqual(['', 'key', 'temporary', 'temporary,key'])
  } finally {
    await rm(folder, { recursive: true })
  }
})
