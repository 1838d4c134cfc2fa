import { execFile } from 'node:child_process'
import { appendFile, copyFile, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { openAudit } from '../../core/observe/audit-file.js'
import type { AuditEvent } from '../../core/observe/audit.js'
import { extendIndexes } from '../../core/observe/audit-search/extend-indexes.js'
import { searchLog, type AuditPage, type AuditPosition } from '../../core/observe/audit-search/search.js'
import { matches, type AuditFilter } from '../../core/observe/audit-search/terms.js'
import { packageRoot } from '../../core/package-root.js'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-audit-search-'))
  path = join(folder, 'audit.jsonl')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const began = Date.parse('2026-11-01T00:00:00Z')

const eventAt = (index: number): AuditEvent => {
  const client_id = `client-${String(index % 5)}`
  if (index % 1000 === 7)
    return {
      event: 'administration',
      action: 'client.update',
      client_id,
      by: { via: 'api', operator: `op-${String(index % 3)}` },
    }
  if (index % 10 === 3)
    return { event: 'login.refused', sub: `person "${String(index % 40)}"`, reason: 'wrong\npassword — ünïcode ✓' }
  return {
    ...{ event: 'token.signed', client_id, jti: `jti-${String(index)}`, request_id: `request-${String(index)}` },
    signatures: [{ kid: index % 2 === 0 ? 'es-1' : 'rs-1', alg: 'ES256' }],
  }
}

/** Writes events with these numbers, a second apart. */
const write = async (from: number, to: number): Promise<void> => {
  let now = began
  await using audit = await openAudit({ issuer: 'https://issuer.example', audit: { file: path } }, () => now)
  for (let index = from; index < to; index += 100) {
    now = began + index * 1000
    const count = Math.min(100, to - index)
    await audit.record(...Array.from({ length: count }, (_, place) => eventAt(index + place)))
  }
}

const extend = (): void => {
  const steps = extendIndexes(path)
  while (steps.next().done === false);
}

const indexFiles = async (): Promise<readonly string[]> =>
  (await readdir(`${path}.index`)).map((name) => join(`${path}.index`, name))

const search = (
  filter: AuditFilter,
  more: { readonly limit?: number; readonly from?: AuditPosition } = {},
): AuditPage => searchLog({ path, filter, limit: 100_000, budgetMs: 60_000, ...more })

const linesOf = async (...files: readonly string[]): Promise<readonly JsonObject[]> => {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  return texts
    .join('')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as JsonObject]))
}

const filters: readonly AuditFilter[] = [
  {},
  { jti: 'jti-4321' },
  { jti: 'none' },
  { client_id: 'client-3', events: ['token.signed'] },
  { client_id: 'client-3', events: ['login.refused'] },
  { sub: 'person "23"' },
  { events: ['login.*'] },
  { events: ['administration', 'login.refused'] },
  { kid: 'rs-1', client_id: 'client-1' },
  { operator: 'op-1' },
  { request_id: 'request-1' },
  { object: 'client:client-2' },
  { since: began + 2_000_000, until: began + 3_000_000 },
  { since: began + 5_900_000, events: ['token.*'], client_id: 'client-4' },
]

const expectAll = async (...files: readonly string[]): Promise<void> => {
  const all = await linesOf(...files)
  for (const filter of filters)
    expect(search(filter).lines, JSON.stringify(filter)).toEqual(
      all.filter((line) => matches(filter, line)).toReversed(),
    )
}

describe('a search of the audit log', () => {
  it('finds the same lines with an index, without one, and with one that is behind', async () => {
    await write(0, 3000)
    await expectAll(path)
    extend()
    await expectAll(path)
    await write(3000, 6000)
    await expectAll(path)
    extend()
    expect(await indexFiles()).toHaveLength(1)
    await expectAll(path)
    expect(search({ jti: 'jti-4321' }).lines).toHaveLength(1)
    expect(search({ object: 'client:client-2' }).lines).toHaveLength(6)
  })

  it('reads only what the index says, and never returns what the log does not have', async () => {
    await write(0, 5000)
    extend()
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.replace('"jti-1234"', '"jti-none"'))
    expect(search({ jti: 'jti-1234' }).lines).toEqual([])
    // The index does not know the new value: only lines that it could have are read.
    expect(search({ jti: 'jti-none' }).lines).toEqual([])
  })

  it('continues where a page ended, while lines are added and files are moved', async () => {
    await write(0, 3000)
    const filter = { client_id: 'client-2' }
    const expected = search(filter).lines
    const seen: JsonObject[] = []
    let from: AuditPosition | undefined
    for (let page = 0; ; page++) {
      const { lines, next } = search(filter, { limit: 97, ...(from && { from }) })
      seen.push(...lines)
      if (next === undefined) break
      from = next
      if (page === 1) await write(3000, 3300)
      if (page === 2) extend()
      if (page === 3) {
        await rename(path, `${path}.1`)
        await write(3300, 3400)
      }
      if (page === 4) {
        await rename(`${path}.1`, `${path}.2`)
        await rename(path, `${path}.1`)
        await write(3400, 3500)
        extend()
      }
    }
    expect(seen).toEqual(expected)
    expect(await indexFiles()).toHaveLength(3)
    await expectAll(`${path}.2`, `${path}.1`, path)
    await rm(`${path}.2`)
    expect(search(filter, { from: from! }).lines).toEqual([])
    extend()
    expect(await indexFiles()).toHaveLength(2)
  })

  it('names compressed files, and does not return the lines of a copy twice', async () => {
    await write(0, 300)
    await copyFile(path, `${path}.backup`)
    await promisify(execFile)('gzip', ['-k', '-c', path], { encoding: 'buffer' }).then(({ stdout }) =>
      writeFile(`${path}.2.gz`, stdout),
    )
    expect(search({}).notSearched).toEqual(['audit.jsonl.2.gz'])
    await expectAll(path)
  })

  it('stops when its time is over, and continues from there', async () => {
    await write(0, 9000)
    const first = searchLog({ path, filter: { jti: 'jti-1' }, limit: 10, budgetMs: -1 })
    expect(first).toMatchObject({ lines: [], next: expect.any(Object) })
    expect(search({ jti: 'jti-1' }, { from: first.next! }).lines).toHaveLength(1)
  })

  it('reads lines that a killed process left incomplete, and lines of any length', async () => {
    await write(0, 1500)
    await appendFile(path, '{"v":2,"writer":"dead')
    await write(1500, 1700)
    await appendFile(path, `{"event":"login.refused","sub":"long","text":"${'x'.repeat(3_000_000)}"}\n`)
    await appendFile(path, '\n\nno json\n[]\n{"event":7}\n')
    await write(1700, 3000)
    await appendFile(path, '{"event":"login.refused","sub":"unfinished"}')
    for (let round = 0; round < 2; round++) {
      expect(search({ sub: 'long' }).lines).toHaveLength(1)
      expect(search({ sub: 'unfinished' }).lines).toEqual([])
      for (const index of [1499, 1500, 1600, 2999])
        expect(search({ jti: `jti-${String(index)}` }).lines).toHaveLength(1)
      extend()
    }
  })
})

describe('the index of the audit log', () => {
  const damages: Readonly<Record<string, (file: string, bytes: Buffer) => Promise<unknown>>> = {
    'is removed': (file) => rm(file),
    'is empty': (file) => truncate(file, 0),
    'ends within a record': (file, bytes) => truncate(file, bytes.length - 100),
    'ends within a header': (file) => truncate(file, 20),
    'has a changed byte': (file, bytes) => writeFile(file, bytes.fill(0xff, 3000, 3001)),
    'has a length without end': (file, bytes) => writeFile(file, bytes.fill(0xff, 4, 8)),
    'is something else': (file) => writeFile(file, 'x'.repeat(10_000)),
    'is of a later version': (file, bytes) => writeFile(file, Buffer.concat([Buffer.from('SAI2'), bytes.subarray(4)])),
    'has its records twice': (file, bytes) => writeFile(file, Buffer.concat([bytes, bytes])),
  }
  for (const [name, damage] of Object.entries(damages))
    it(`is made again or used as far as it is right when it ${name}`, async () => {
      await write(0, 5000)
      extend()
      const [file] = await indexFiles()
      await damage(file!, await readFile(file!))
      await expectAll(path)
      extend()
      await write(5000, 7000)
      extend()
      await expectAll(path)
    })

  it('is of one content: not of a log that was cut and written again', async () => {
    await write(0, 5000)
    extend()
    const first = (await readFile(path, 'utf8')).split('\n')[0]!
    await truncate(path, 0)
    await write(5000, 9000)
    await expectAll(path)
    await writeFile(path, `${first}\n`)
    await write(100, 5100)
    await expectAll(path)
    extend()
    await expectAll(path)
  })

  it('is made by several processes at once', async () => {
    await write(0, 20_000)
    const program = `
      import { extendIndexes } from '${packageRoot}/dist/core/observe/audit-search/extend-indexes.js'
      for (const _step of extendIndexes(process.argv[1]));`
    const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program, path])
    await Promise.all([run(), run(), run(), run()])
    await expectAll(path)
    // Nothing is left to be indexed but less than a block.
    expect([...extendIndexes(path)]).toEqual([])
  })
})
