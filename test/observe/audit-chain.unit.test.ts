import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { appendFile, readFile, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { lineHash } from '../../core/observe/audit-chain.js'
import { openAudit } from '../../core/observe/audit-file.js'
import { verifyAudit, type AuditVerifyOptions } from '../../core/observe/audit-verify.js'
import { readLines } from '../../core/operate/json-records.js'
import { mountSmallDisk } from '../support/stores/small-disk.js'

const directory = mkdtempSync(join(tmpdir(), 'signet-chain-'))
const disk = mountSmallDisk('64k')
afterAll(() => {
  disk?.[Symbol.dispose]()
  rmSync(directory, { recursive: true })
})

const printer = fileURLToPath(new URL('../support/server/audit-chain-printer.ts', import.meta.url))

let files = 0
const newFile = (): string => join(directory, `audit-${String(++files)}.jsonl`)

/** One process' life: so many events, and an orderly end. */
const write = async (file: string, count: number, sub = 'alice'): Promise<void> => {
  await using audit = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
  for (let index = 0; index < count; index++) await audit.record({ event: 'login.succeeded', sub, index })
}

const verify = (file: string | readonly string[], options?: AuditVerifyOptions) =>
  verifyAudit([file].flat().map(readLines), options)

const linesOf = async (file: string): Promise<string[]> => (await readFile(file, 'utf8')).trimEnd().split('\n')

/** A log of two lives of five lines each, changed by `change`, and what is found in it. */
const verifyChanged = async (change: (lines: string[]) => readonly string[], options?: AuditVerifyOptions) => {
  const file = newFile()
  await write(file, 5)
  await write(file, 5)
  const lines = await linesOf(file)
  await writeFile(file, `${change([...lines]).join('\n')}\n`)
  return verify(file, options)
}

const wholeChain = { faults: [], torn: [], lostHeads: [], unchained: 0 }

describe('the chain of the audit log', () => {
  it('is complete, and each line has the hash of the previous one', async () => {
    const found = await verifyChanged((lines) => {
      const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
      expect(parsed.map(({ prev }) => prev)).toEqual([null, ...lines.slice(0, -1).map(lineHash)])
      expect(parsed.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 1, 2, 3, 4, 5])
      expect(new Set(parsed.map(({ writer }) => writer)).size).toBe(2)
      return lines
    })
    expect(found).toMatchObject({ ...wholeChain, lines: 10, writers: [{ last: 5 }, { last: 5 }] })
  })

  it.each([
    ['a changed line', (lines: string[]) => lines.with(2, lines[2]!.replace('alice', 'mallo')), 'changed', 4],
    ['the last line before a restart, changed', (lines: string[]) => lines.with(4, `${lines[4]!} `), 'missing', 6],
    ['a line that was taken out', (lines: string[]) => lines.toSpliced(2, 1), 'missing', 3],
    ['several that were taken out', (lines: string[]) => lines.toSpliced(6, 3), 'missing', 7],
    ['the beginning taken out', (lines: string[]) => lines.slice(2), 'missing', 1],
    ['a whole life taken out', (lines: string[]) => lines.slice(5), 'missing', 1],
    ['two lines exchanged', (lines: string[]) => lines.with(2, lines[3]!).with(3, lines[2]!), 'reordered', 3],
    ['a line that was moved', (lines: string[]) => [...lines.toSpliced(1, 1), lines[1]!], 'reordered', 2],
    ['a line twice', (lines: string[]) => lines.toSpliced(2, 0, lines[1]!), 'repeated', 3],
    ['a line of nobody', (lines: string[]) => lines.toSpliced(2, 0, '{"event":"token.issued"}'), 'unchained', 3],
    ['a line made unreadable', (lines: string[]) => lines.with(2, 'x'), 'missing', 4],
  ] as const)('shows %s', async (_, change, kind, line) => {
    const { faults } = await verifyChanged(change)
    const writer = kind === 'unchained' ? undefined : expect.stringMatching(/^[0-9a-f]{16}$/)
    expect(faults).toContainEqual({ kind, line, message: expect.any(String), ...(writer && { writer }) })
  })

  it('names one fault for each writer', async () => {
    const { faults } = await verifyChanged((lines) => [1, 6].reduce((all, at) => all.with(at, `${all[at]!} `), lines))
    expect(faults.map(({ kind, line }) => [kind, line])).toEqual([
      ['changed', 3],
      ['changed', 8],
    ])
  })

  it('detects a truncated end against a recorded head', async () => {
    const file = newFile()
    await write(file, 3)
    const [writer] = (await verify(file)).writers
    await write(file, 3)
    const heads = [writer!.head]
    expect(await verify(file, { heads })).toMatchObject(wholeChain)
    await writeFile(file, `${(await linesOf(file)).slice(0, 2).join('\n')}\n`)
    expect(await verify(file)).toMatchObject(wholeChain)
    expect(await verify(file, { heads })).toMatchObject({ faults: [], lostHeads: heads })
  })

  it('spans several files, or begins within one if allowed', async () => {
    const file = newFile()
    await using audit = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
    await audit.record({ event: 'outage' }, { event: 'outage' })
    const older = newFile()
    await writeFile(older, await readFile(file))
    await truncate(file)
    await audit.record({ event: 'outage' })
    await write(file, 2)
    expect(await verify([older, file])).toMatchObject({ ...wholeChain, lines: 5 })
    expect(await verify(file, { partial: true })).toMatchObject(wholeChain)
    expect((await verify(file)).faults).toMatchObject([{ kind: 'missing', line: 1 }])
  })

  it('distinguishes a line cut off by a killed process from a changed one', async () => {
    const file = newFile()
    await write(file, 3)
    const third = (await linesOf(file))[2]!
    await truncate(file, (await readFile(file)).length - 20)
    expect(await verify(file)).toMatchObject({ ...wholeChain, torn: [3], writers: [{ last: 2 }] })
    // The next life.
    await write(file, 2)
    expect((await linesOf(file))[2]).toBe(third.slice(0, -19))
    expect(await verify(file)).toMatchObject({ ...wholeChain, torn: [3], writers: [{ last: 2 }, { last: 2 }] })
  })

  it('finds the line that another process wrote behind half a line', async () => {
    const file = newFile()
    await write(file, 2)
    await using other = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
    await other.record({ event: 'outage' })
    await appendFile(file, '{"v":2,"writer":"0000000000000000","seq":9,"pr')
    await other.record({ event: 'outage' }, { event: 'outage' })
    expect(await verify(file)).toMatchObject({ ...wholeChain, torn: [4], writers: [{ last: 2 }, { last: 3 }] })
  })

  it('follows lines of the version before, and the log of the operator on the same stream', async () => {
    const file = newFile()
    writeFileSync(file, '{"v":1,"seq":1,"event":"outage"}\n{"v":1,"se\n')
    await write(file, 2)
    await appendFile(file, '{"level":"info","msg":"request"}\n')
    expect(await verify(file)).toMatchObject({ ...wholeChain, unchained: 1, torn: [2] })
  })

  it('restarts with each process on a stream, with a mark, and in a file only at its beginning', async () => {
    const lives = ['', '', ''].map((_, life) =>
      execFileSync(process.execPath, ['--import', 'tsx', printer, String(700 + life)], { encoding: 'utf8' }),
    )
    const file = newFile()
    await writeFile(file, lives.join(''))
    expect(await verify(file)).toMatchObject({
      ...wholeChain,
      lines: 2 * 2103,
      writers: [{ last: 700 }, { last: 701 }, {}],
    })
    await writeFile(file, lives.join('').replaceAll('"stream":true,', ''))
    // A changed first line shows in the second one.
    expect((await verify(file)).faults.map(({ kind }) => kind)).toEqual(['changed', 'missing', 'missing'])
  })

  it('accepts half a line of the operational log as left by a killed process', async () => {
    const file = newFile()
    await writeFile(file, '{"level":"info","ti\n')
    await write(file, 2)
    expect(await verify(file)).toMatchObject({ ...wholeChain, torn: [1] })
  })

  it('has no gap after a disk that was full', { skip: !disk }, async () => {
    const [file, filler] = [join(disk!.path, 'audit.jsonl'), join(disk!.path, 'filler')]
    await using audit = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
    const fill = async (): Promise<void> => {
      for (;;) await audit.record({ event: 'outage', padding: 'x'.repeat(700) }, { event: 'outage' })
    }
    for (let round = 0; round < 3; round++) {
      writeFileSync(filler, Buffer.alloc(24 * 1024))
      await expect(fill()).rejects.toMatchObject({ component: 'audit', applied: 'no' })
      rmSync(filler)
      await audit.record({ event: 'outage' })
      await truncateAway()
    }
    async function truncateAway(): Promise<void> {
      const found = await verify(file, { partial: true })
      expect(found.faults).toEqual([])
      expect(found.torn.length).toBeGreaterThan(0)
      await truncate(file)
    }
  })

  it('coexists with those of other processes that append to the same file', async () => {
    const file = newFile()
    await write(file, 1)
    const processes = Array.from({ length: 3 }, () =>
      fork(fileURLToPath(new URL('../support/server/audit-chain-process.ts', import.meta.url)), [file, '400'], {
        execArgv: ['--import', 'tsx'],
      }),
    )
    const ended = Promise.all(processes.map((child) => once(child, 'exit')))
    await Promise.all(processes.map((child) => once(child, 'message')))
    for (const child of processes) child.send('go')
    expect((await ended).map(([code]) => code as number)).toEqual([0, 0, 0])
    const found = await verify(file)
    expect(found).toMatchObject({ ...wholeChain, lines: 1 + 3 * 799 })
    expect(found.writers.map(({ last }) => last)).toEqual([1, 799, 799, 799])
    const lines = await linesOf(file)
    // One line of one of them.
    const at = 1200
    const writer = (JSON.parse(lines[at]!) as { writer: string }).writer
    await writeFile(file, `${lines.toSpliced(at, 1).join('\n')}\n`)
    expect((await verify(file)).faults).toMatchObject([{ kind: 'missing', writer }])
  })
})
