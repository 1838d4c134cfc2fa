import { gzipSync } from 'node:zlib'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuditChain, lineHash } from '../../core/observe/audit-chain.js'
import { verifyExtract } from '../../core/operate/pack/audit-extract.js'
import { extractRange, LogChanged } from '../../core/operate/pack/range-lines.js'
import type { ChainProof } from '../../core/operate/pack/pack.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-extract-'))
})
afterAll(() => rm(folder, { recursive: true }))

const start = Date.parse('2026-11-20T10:00:00Z')
/** The time of the line at this index. */
const at = (index: number): number => start + index * 1000

/** Writes lines as processes would: `order` names the writer of each. */
const writeLines = (order: string): string[] => {
  const chains = new Map<string, AuditChain>()
  const lines: string[] = []
  for (const [index, name] of [...order].entries()) {
    const chain = chains.get(name) ?? new AuditChain(false)
    if (!chains.has(name)) chain.continueFrom(lines.length === 0 ? undefined : lineHash(lines.at(-1)!))
    chains.set(name, chain)
    lines.push(...chain.link([`"time":"${new Date(at(index)).toISOString()}","pid":${index},"event":"outage"}`]))
  }
  return lines
}

const iterate = async function* (lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

const extract = async (files: readonly string[], from: number, to: number) => {
  const lines: string[] = []
  const proof = await extractRange(files, { from: at(from), to: at(to) }, ({ text }) => void lines.push(text))
  return { lines, proof }
}

const faultsOf = async (lines: readonly string[], proof: ChainProof): Promise<readonly string[]> =>
  (await verifyExtract(iterate(lines), proof)).faults

describe('an extract of the audit log', () => {
  const order = 'AAABABCABCBBDDAB'

  it('is complete for every range, and no line of it can be changed, moved, repeated or removed', async () => {
    const file = join(folder, 'log.jsonl')
    const all = writeLines(order)
    await writeFile(file, all.map((line) => `${line}\n`).join(''))
    let changed = 0
    for (let from = 0; from <= all.length; from++)
      for (let to = from; to <= all.length; to++) {
        const { lines, proof } = await extract([file], from, to)
        expect(lines).toEqual(all.slice(from, to))
        expect(await faultsOf(lines, proof)).toEqual([])
        const { open } = await verifyExtract(iterate(lines), proof)
        for (const index of lines.keys()) {
          const removed = lines.toSpliced(index, 1)
          expect(await faultsOf(removed, proof)).not.toEqual([])
          expect(await faultsOf(lines.toSpliced(index, 0, lines[index]!), proof)).not.toEqual([])
          const other = lines.toSpliced(index, 1, lines[index]!.replace('outage', 'Outage'))
          const writer = /"writer":"(\w+)"/.exec(lines[index]!)?.[1] ?? ''
          const isLast = !lines.slice(index + 1).some((line) => line.includes(writer))
          // What no later line names is proved by the signature of the pack alone, and the verifier says so.
          if (isLast && open.includes(writer)) continue
          changed++
          expect(await faultsOf(other, proof)).not.toEqual([])
        }
      }
    expect(changed).toBeGreaterThan(400)
  })

  it('finds a line moved among those of its own writer', async () => {
    const file = join(folder, 'moved.jsonl')
    const all = writeLines('AAAA')
    await writeFile(file, all.map((line) => `${line}\n`).join(''))
    const { lines, proof } = await extract([file], 1, 4)
    expect(await faultsOf([lines[1]!, lines[0]!, lines[2]!], proof)).not.toEqual([])
  })

  it('finds a whole writer that is left out, and lines that are added', async () => {
    const file = join(folder, 'writers.jsonl')
    const all = writeLines('AABBAAC')
    await writeFile(file, all.map((line) => `${line}\n`).join(''))
    const { lines, proof } = await extract([file], 0, 7)
    expect(
      await faultsOf(
        lines.filter((_line, index) => index !== 2 && index !== 3),
        proof,
      ),
    ).not.toEqual([])
    const [forged = ''] = new AuditChain(false).link(['"event":"outage"}'])
    expect(await faultsOf([...lines, forged], proof)).not.toEqual([])
  })

  it('reads rotated and packed files, an unfinished last line, and lines of the operator between them', async () => {
    const [first, second] = [join(folder, 'audit.jsonl.1.gz'), join(folder, 'audit.jsonl')]
    const all = writeLines('AABBAB')
    await writeFile(
      first,
      gzipSync(
        all
          .slice(0, 3)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    )
    await writeFile(second, `{"level":"info","msg":"x"}\n${all.slice(3).join('\n')}\n{"v":2,"wri`)
    const { lines, proof } = await extract([first, second], 1, 9)
    expect(lines).toEqual(all.slice(1))
    expect(proof.files).toEqual([0, 2])
    expect(await faultsOf(lines, proof)).toEqual([])
  })

  it('names what is missing when the log begins after the range', async () => {
    const file = join(folder, 'late.jsonl')
    await writeFile(
      file,
      writeLines('AAAA')
        .slice(2)
        .map((line) => `${line}\n`)
        .join(''),
    )
    const { lines, proof } = await extract([file], 0, 4)
    expect(await faultsOf(lines, proof)).toEqual([expect.stringContaining('seq 1 to 2 are not there')])
  })

  it('stops when the log is rotated between its two readings', async () => {
    const file = join(folder, 'rotated.jsonl')
    const all = writeLines('AAAA')
    await writeFile(file, all.map((line) => `${line}\n`).join(''))
    let rotated: Promise<void> | undefined
    const files = {
      *entries() {
        // The second reading finds another file.
        yield [0, rotated === undefined ? file : join(folder, 'moved.jsonl')] as const
        rotated = appendFile(file, '')
      },
    } as unknown as readonly string[]
    await expect(extractRange(files, { from: at(0), to: at(4) }, () => {})).rejects.toThrow(LogChanged)
  })
})
