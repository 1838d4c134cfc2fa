import { chmod, chown, cp, mkdir, mkdtemp, open, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { runInHost } from '../support/server/command-host.js'
import { configuration } from '../support/server/command-line.js'

// A store that was cut off, overwritten or left behind: a line that names it, and never a signal or a new store in silence.

/** `SIGNET_DAMAGED_STORES=200` cuts and overwrites many more places. */
const count = Number(process.env['SIGNET_DAMAGED_STORES'] ?? 6)
const pageBytes = 4096
const main = join(packageRoot, 'dist', 'core', 'main.js')

describe('a damaged embedded store', () => {
  let folder: string
  let sound: string
  let pages: number
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signet-damaged-'))
    sound = join(folder, 'sound')
    await using store = await openEmbedded({ path: sound, clock: Date.now })
    const records = store.records<string>('clients')
    const codes = store.oneTime<string>('codes')
    for (let batch = 0; batch < 20; batch++)
      await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          await records.put(`record ${String(batch)} ${String(index)}`, 'x'.repeat(200))
          await codes.put(`code ${String(batch)} ${String(index)}`, 'x'.repeat(100), 3600)
        }),
      )
  })
  beforeAll(async () => {
    pages = Math.floor((await stat(join(sound, 'data.mdb'))).size / pageBytes)
    expect(pages).toBeGreaterThan(100)
  })
  afterAll(() => rm(folder, { recursive: true }))

  let made = 0
  /** A deployment whose store is a copy of the sound one. */
  const deployment = async (): Promise<{ directory: string; store: string; data: string }> => {
    const directory = join(folder, `deployment-${String(made++)}`)
    const store = join(directory, 'data', 'store')
    await mkdir(join(directory, 'data'), { recursive: true })
    await cp(sound, store, { recursive: true })
    const stores = '{ use: embedded, options: { path: ./data/store } }'
    const more = `audit: { file: ./audit.jsonl }\nstorage: { records: ${stores}, ephemeral: ${stores} }\n`
    await writeFile(join(directory, 'signet.yaml'), configuration(more))
    return { directory, store, data: join(store, 'data.mdb') }
  }

  /** A signal ends the process that runs many commands too, and the test with it. */
  const run = async (directory: string, args: readonly string[]) => {
    const { code, stdout, stderr } = await runInHost(directory, [...args, '--config', 'signet.yaml'])
    return { code, said: stdout + stderr }
  }
  const runAlone = async (directory: string, args: readonly string[], uid = 0) => {
    const as = { cwd: directory, uid, gid: uid }
    const child = spawn(process.execPath, [main, ...args, '--config', 'signet.yaml'], as)
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode, signal: child.signalCode, said: stdout + stderr }
  }

  const commands = [['start'], ['doctor'], ['clients', 'list'], ['accounts', 'list']]
  /** Of every command when `all`, of two otherwise. */
  const expectRefusal = async (directory: string, why: RegExp, all = true): Promise<void> => {
    for (const args of all ? commands : commands.slice(0, 2)) {
      const { code, said } = await run(directory, args)
      expect({ args, code, said }).toEqual({ args, code: 1, said: expect.stringMatching(why) as string })
      expect(said).toMatch(/the store \S+data\/store /)
    }
  }

  it.each([
    ['5000 bytes of it', (data: string) => truncate(data, 5000), /data\.mdb was cut off/],
    ['half a page', (data: string) => truncate(data, 100), /data\.mdb was cut off/],
    ['zeros', (data: string) => writeFile(data, Buffer.alloc(pages * pageBytes)), /data\.mdb is not a file of LMDB/],
    ['text', (data: string) => writeFile(data, 'hello\n'.repeat(5000)), /data\.mdb is not a file of LMDB/],
    ['an empty file', (data: string) => truncate(data, 0), /data\.mdb is empty/],
    ['a lock alone', (data: string) => rm(data), /lock\.mdb is there and data\.mdb is missing/],
  ])('%s: every command ends with a line, and makes no new store', async (_what, damage, why) => {
    const { directory, store, data } = await deployment()
    await damage(data)
    const before = await readdir(store)
    await expectRefusal(
      directory,
      new RegExp(`is damaged: ${why.source}.*; restore a backup of it, or move the directory away`),
    )
    expect(await readdir(store)).toEqual(before)
  })

  it('another version of LMDB', async () => {
    const { directory, data } = await deployment()
    await using file = await open(data, 'r+')
    await file.write(Buffer.from([1, 0, 0, 0]), 0, 4, 0x1c)
    await expectRefusal(directory, /data\.mdb has version 1 of LMDB's format, and this program needs 2/)
  })

  it.runIf(process.getuid?.() === 0).each([
    ['without permission', async (data: string) => chmod(data, 0o000)],
    ['of another owner', async (data: string) => chown(data, 0, 0)],
  ])('%s', async (_what, change) => {
    const { directory, store, data } = await deployment()
    const uid = 65_534
    for (const path of [folder, directory, join(directory, 'data'), store, join(store, 'lock.mdb'), data])
      await chown(path, uid, uid)
    await change(data)
    const { code, signal, said } = await runAlone(directory, ['doctor'], uid)
    expect({ code, signal }).toEqual({ code: 1, signal: null })
    expect(said).toMatch(
      /the store \S+ cannot be read and written: \S+data\.mdb: it belongs to user \d+ and has mode \d+, and Signet runs as user 65534/,
    )
  })

  it(`cut off at ${String(count)} places: refused, or all that it had is there`, async () => {
    for (let index = 0; index < count; index++) {
      const { directory, data } = await deployment()
      await truncate(data, Math.floor(((index + 1) * pages * pageBytes) / (count + 1)))
      const { code, said } = await run(directory, ['doctor'])
      expect({ index, code, said }).toMatchObject({
        code: 1,
        said: expect.stringMatching(/the store \S+ is damaged/),
      })
      await rm(directory, { recursive: true })
    }
  })

  it(`overwritten with zeros in ${String(count)} places: a code to exit with, and no signal`, async () => {
    for (let index = 0; index < count; index++) {
      const { directory, data } = await deployment()
      {
        await using file = await open(data, 'r+')
        const page = Math.floor((index * pages) / count)
        await file.write(Buffer.alloc(pageBytes), 0, pageBytes, page * pageBytes)
      }
      const { code, said } = await run(directory, ['doctor'])
      // A page that is free, or of which nothing is asked, harms nobody.
      if (code !== 0) expect({ index, said }).toMatchObject({ said: expect.stringMatching(/the store \S+ is damaged/) })
      await rm(directory, { recursive: true })
    }
  })
})
