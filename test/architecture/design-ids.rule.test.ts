import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'

const skipped = /(^|\/)(node_modules|dist|broken-tree)\//

const filesUnder = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file}`)
    .filter((file) => ending.test(file) && !skipped.test(file))
    .toSorted()

const read = (file: string): string => readFileSync(join(packageRoot, file), 'utf8')

const design = filesUnder('docs/design', /\.md$/)

/** The ids in the first cells of the tables, as often as they are there. */
const rowIds = design.flatMap((file) =>
  [...read(file).matchAll(/^\| *([A-Z]{2}\d{2}|F\d{2}|row \d+) *\|/gm)].map(([, id = '']) => id),
)
const known: ReadonlySet<string> = new Set(rowIds)

/** GitHub's anchors of the headings, with their file: `docs/design/faults.md#rule-2`. */
const anchors: ReadonlySet<string> = new Set(
  design.flatMap((file) =>
    [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => {
      const anchor = title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-')
      return `${file}#${anchor}`
    }),
  ),
)

/** `AZ05`, `F24`, `row 12`, `row 22 and 23`, `row 7 to 10`: all that a text cites. */
const citedIds = (text: string): string[] => [
  ...[...text.matchAll(/(?<![\w+/=-])(?:[A-Z]{2}|F)\d{2}(?![\w+/=-])/g)].map(([id]) => id),
  ...[...text.matchAll(/\brow (\d+)(?: (?:and|to) (\d+))?\b/g)].flatMap(([, first, last]) =>
    [first, last].filter((number) => number !== undefined).map((number) => `row ${number}`),
  ),
]

/** What a text cites and no file of `docs/design` has. */
const unknownIn = (text: string): string[] => [
  ...citedIds(text).filter((id) => !known.has(id)),
  ...[...text.matchAll(/\bdocs\/design\/[\w-]+\.md(#[\w-]+)?/g)]
    .filter(([cited, anchor]) => (anchor === undefined ? !design.includes(cited) : !anchors.has(cited)))
    .map(([cited]) => cited),
]

const comments = (source: string): string =>
  [...source.matchAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm)].map(([comment]) => comment).join('\n')

const product = ['core', 'plugins', 'signers', 'stores', 'config', 'bin'].flatMap((room) =>
  filesUnder(room, /\.(ts|js)$/),
)
const tests = filesUnder('test', /\.(ts|js)$/).filter((file) => !file.endsWith('/design-ids.rule.test.ts'))

describe('docs/design', () => {
  it('has every id that tests, comments of the product and docs/design itself cite', () => {
    const texts = [
      ...product.map((file): [string, string] => [file, comments(read(file))]),
      ...[...tests, ...design].map((file): [string, string] => [file, read(file)]),
    ]
    const unknown = texts.flatMap(([file, text]) => unknownIn(text).map((id) => `${file}: ${id}`))
    expect(unknown).toEqual([])
    expect(texts.flatMap(([, text]) => citedIds(text)).length).toBeGreaterThan(400)
  })

  it('has each id once', () => {
    expect(rowIds.length).toBeGreaterThan(250)
    expect(rowIds.filter((id, index) => rowIds.indexOf(id) !== index)).toEqual([])
  })

  it('would detect an invented id, row or section', () => {
    const canary = 'AZ05 AZ98 QQ12: row 7 and 99 (F24, F77; docs/design/faults.md#rule-2, docs/design/faults.md#rule-9)'
    expect(unknownIn(canary)).toEqual(['AZ98', 'QQ12', 'F77', 'row 99', 'docs/design/faults.md#rule-9'])
    expect(unknownIn('docs/design/protocol.md')).toEqual(['docs/design/protocol.md'])
  })

  it('is what product comments cite, rather than documents outside the repository', () => {
    const vague = /decisions? section \d|faults?, rule \d|\(attacks\b|\bthe specification's\b/i
    expect(product.filter((file) => vague.test(comments(read(file))))).toEqual([])
  })
})
