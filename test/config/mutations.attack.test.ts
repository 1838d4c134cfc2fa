import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isMap, isScalar, isSeq, parseDocument, type Document, type Node, type Pair } from 'yaml'
import { ConfigurationError } from '../../config/problems.js'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { packageRoot } from '../../core/package-root.js'
import { loadPages } from '../../core/host/load-pages.js'

/** How many files are tried; `SIGNET_CONFIG_MUTATIONS=5000` for the large count. */
const count = Number(process.env['SIGNET_CONFIG_MUTATIONS'] ?? 400)

const folder = join(packageRoot, 'config/examples')
const examples = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => readFileSync(join(folder, name), 'utf8'))

/** With every variable that the examples name, so that the checks reach what comes after them. */
const env = Object.fromEntries(
  [...examples.join('\n').matchAll(/\$env: (\w+)/g)].map(([, name = '']) => [
    name,
    'a-secret-of-more-than-32-characters-for-tests',
  ]),
)

/** mulberry32: the same files in every run. */
const createRandom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) % below
  }
}
type Random = ReturnType<typeof createRandom>

const pick = <T>(random: Random, list: readonly T[]): T => list[random(list.length)]!

const odd: readonly unknown[] = [
  null,
  '',
  'hello',
  'a\nb',
  '\u0000',
  '\u202e',
  0,
  -1,
  1e308,
  Number.NaN,
  true,
  [],
  {},
  [null],
  [[]],
  [{}],
  { a: null },
  { $env: 'UNSET' },
  { $file: '/nowhere' },
  { $env: 'A', $file: 'b' },
  { __proto__: null, constructor: 1 },
  'x'.repeat(10_000),
]

type Place = { readonly set: (value: unknown) => void; readonly drop: () => void }

const placesOf = (document: Document): Place[] => {
  const places: Place[] = []
  const visit = (node: unknown): void => {
    if (isMap(node))
      for (const pair of node.items as Pair<Node, Node | null>[]) {
        places.push({
          set: (value) => (pair.value = document.createNode(value)),
          drop: () => node.items.splice(node.items.indexOf(pair), 1),
        })
        if (isScalar(pair.key)) places.push({ set: (value) => (pair.key = document.createNode(value)), drop: () => {} })
        visit(pair.value)
      }
    if (isSeq(node))
      for (const [index, item] of node.items.entries()) {
        places.push({
          set: (value) => (node.items[index] = document.createNode(value)),
          drop: () => node.items.splice(index, 1),
        })
        visit(item)
      }
  }
  visit(document.contents)
  return places
}

/** Changes of the values of a file, which then is YAML all the same. */
const changeValues = (text: string, random: Random): string => {
  const document = parseDocument(text)
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const place = pick(random, placesOf(document))
    if (random(5) === 0) place.drop()
    else place.set(pick(random, odd))
  }
  return document.toString()
}

/** Changes of the text, which may not be YAML any more. */
const changeText = (text: string, random: Random): string => {
  const lines = text.split('\n')
  const at = random(lines.length)
  const insert = (line: string): string => [...lines.slice(0, at), line, ...lines.slice(at)].join('\n')
  return pick(random, [
    () => text.slice(0, random(text.length)),
    () => insert('<<: { a: 1 }'),
    () => insert('loop: &loop [*loop]'),
    () => insert('a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c]'),
    () => insert(`deep: ${'['.repeat(90 + random(5000))}`),
    () => insert(`deep: ${'{a: '.repeat(120)}1${'}'.repeat(120)}`),
    () => insert('? [a, b]\n: 1'),
    () => insert('key: !!js/function x'),
    () => insert('--- b'),
    () => insert('\t- tab'),
    () => insert(pick(random, lines)),
    () => lines.filter((_line, index) => index !== at).join('\n'),
    () => lines.toReversed().join('\n'),
    () => `extends: ${pick(random, ['signet.yaml', 'missing.yaml', '.', '""', '[a]', 'null'])}\n${text}`,
    () => pick(random, ['', 'hello', '42', '- a', 'null', '~', '"', '{', '---', '%YAML 9.9\n---\na: 1', '\u0000']),
  ])()
}

const encode = (text: string, random: Random): Uint8Array =>
  pick(random, [
    () => Buffer.from(text),
    () => Buffer.from(text),
    () => Buffer.from(text),
    () => Buffer.from(`\ufeff${text}`),
    () => Buffer.from(`\ufeff${text}`, 'utf16le'),
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    () => Buffer.from(text, 'utf16le').subarray(1),
    () => Buffer.from(text.replace(/e/, 'é'), 'latin1'),
    () => {
      const bytes = Buffer.from(text)
      if (bytes.length > 0) bytes[random(bytes.length)] = random(256)
      return bytes
    },
  ])()

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signet-mutations-'))
})
afterAll(() => rm(directory, { recursive: true }))

it(
  `finds problems, or none, in each of ${String(count)} changed files and fails at no file`,
  { timeout: 600_000 },
  async () => {
    const file = join(directory, 'signet.yaml')
    const failures: string[] = []
    let refused = 0
    for (let seed = 0; seed < count; seed++) {
      const random = createRandom(seed)
      const change = random(3) === 0 ? changeText : changeValues
      await writeFile(file, encode(change(pick(random, examples), random), random))
      try {
        await checkConfiguration(file, env, loadPages)
      } catch (error) {
        refused++
        const sound =
          error instanceof ConfigurationError &&
          error.problems.length > 0 &&
          error.problems.every(
            ({ message }) => message !== '' && !/TypeError|RangeError|undefined|\[object/.test(message),
          )
        if (!sound)
          failures.push(`seed ${String(seed)}: ${error instanceof Error ? (error.stack ?? '') : String(error)}`)
      }
    }
    expect(failures).toEqual([])
    expect(refused).toBeGreaterThan(count / 2)
  },
)
