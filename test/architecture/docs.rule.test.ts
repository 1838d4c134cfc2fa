import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { afterAll, describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { formatProblem, type ConfigurationError } from '../../config/problems.js'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { packageRoot } from '../../core/package-root.js'
import { loadPages } from '../../core/host/load-pages.js'
import { generateAdminReference } from '../support/admin-reference.js'
import { codeBlock, readDocument } from '../support/document.js'
import { folderWith } from '../support/server/config-files.js'

const inDocs = readdirSync(join(packageRoot, 'docs'), { encoding: 'utf8', recursive: true })
const examples = readdirSync(join(packageRoot, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const documents = [
  'README.md',
  'CHANGELOG.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'GLOSSARY.md',
  'examples/README.md',
  ...examples.map((name) => `examples/${name}/README.md`),
  ...inDocs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
]

const directory = mkdtempSync(join(tmpdir(), 'signet-docs-'))
afterAll(() => rmSync(directory, { recursive: true }))

const section = (path: string, title: string): string =>
  readDocument(path)
    .split(/^(?=##+ )/m)
    .filter((part) => part.startsWith(`## ${title}\n`) || part.startsWith(`### ${title}\n`))
    .join('')

/** The names in the first cells of the tables of a text. */
const firstCells = (text: string): string[] => [...text.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name)

const packageJson = JSON.parse(readDocument('package.json')) as Record<
  'dependencies' | 'optionalDependencies' | 'devDependencies' | 'scripts',
  Record<string, string>
> & { readonly version: string }

/** A node of a source file with all that is within. */
const nodesIn = (node: ts.Node): ts.Node[] => {
  const nodes = [node]
  ts.forEachChild(node, (child) => void nodes.push(...nodesIn(child)))
  return nodes
}

const parse = (path: string): ts.Node[] =>
  nodesIn(ts.createSourceFile(path, readDocument(path), ts.ScriptTarget.Latest))

/** All within the declaration of this variable or type. */
const declarationOf = (path: string, name: string): ts.Node[] =>
  parse(path).flatMap((node) =>
    (ts.isVariableDeclaration(node) || ts.isTypeAliasDeclaration(node)) && (node.name as ts.Identifier).text === name
      ? nodesIn(node)
      : [],
  )

const stringsIn = (nodes: readonly ts.Node[]): string[] => nodes.filter(ts.isStringLiteral).map(({ text }) => text)

const scriptsOf = (file: string): Record<string, string> =>
  (JSON.parse(readFileSync(file, 'utf8')) as typeof packageJson).scripts

it('docs/dependencies.md gives a reason for each dependency and for nothing else', () => {
  const { dependencies, optionalDependencies, devDependencies } = packageJson
  const given = firstCells(readDocument('docs/dependencies.md'))
  const installed = [dependencies, optionalDependencies, devDependencies].flatMap(Object.keys)
  expect(given.toSorted()).toEqual(installed.toSorted())
})

it('docs/README.md links to every document of its folder and of docs/design', () => {
  const index = readDocument('docs/README.md')
  const beside = inDocs.filter((name) => /^(?:design\/)?[\w-]+\.md$/.test(name) && name !== 'README.md')
  expect(beside.length).toBeGreaterThan(30)
  expect(beside.filter((name) => !index.includes(`](${name})`))).toEqual([])
})

describe('README', () => {
  it('shows a valid configuration', async () => {
    const file = join(directory, 'my.yaml')
    writeFileSync(file, codeBlock('README.md', 'my.yaml'))
    const { config, warnings, clients } = await checkConfiguration(
      file,
      { REPORTS_SECRET: 'a secret of 32 characters, or more' },
      loadPages,
    )
    expect(warnings).toEqual([])
    expect(clients.map((client) => client.client_id)).toEqual(['reports'])
    // The demo, which is tried before it, has published its keys: another one would wait for an hour.
    const demo = await checkConfiguration(join(packageRoot, 'config/default.yaml'), {}, loadPages)
    expect(config.storage.records).not.toEqual(demo.config.storage.records)
    expect(config.storage.ephemeral).not.toEqual(demo.config.storage.ephemeral)
  })
})

describe('the version', () => {
  const { version } = packageJson
  const [, newest] = /^## \[(\d.+)\] - \d{4}-\d{2}-\d{2}$/m.exec(readDocument('CHANGELOG.md')) ?? []

  it.each([
    ['package-lock.json', [version, version], /^ {2}(?: {4})?"version": "(.+)"/gm],
    ['libraries/wire/user-agent.ts', [version], /'signet\/(.+)'/g],
    ['deploy/kubernetes/deployment.yaml', [version], /image: \S+\/signet:(\S+)/g],
    ['deploy/kubernetes/migrate.yaml', [version], /image: \S+\/signet:(\S+)/g],
  ])('of package.json is in %s', (path, expected, pattern) => {
    const named = [...readDocument(path).matchAll(pattern)].map(([, found]) => found)
    expect(named.slice(0, 2)).toEqual(expected)
  })

  it('is the newest in CHANGELOG.md, and has a section in docs/upgrading.md', () => {
    expect(newest).toBe(version)
    const [major, minor] = version.split('.')
    expect(readDocument('docs/upgrading.md')).toContain(`\n## To ${String(major)}.${String(minor)}\n`)
  })
})

it.each([
  ['docs/attestation.md', 'fleet-here.yaml', 'fleet.yaml'],
  ['docs/relying-parties.md', 'roles.yaml', 'laptop.yaml'],
])('%s shows a valid %s on top of config/examples/%s', async (path, name, base) => {
  const folder = await folderWith({
    [base]: readDocument(`config/examples/${base}`),
    [name]: codeBlock(path, name),
  })
  expect((await checkConfiguration(join(folder, name), {}, loadPages)).warnings).toEqual([])
})

describe.each(documents)('%s', (path) => {
  const text = readDocument(path)

  it('names scripts that exist', () => {
    const own = join(packageRoot, dirname(path), 'package.json')
    const scripts = { ...packageJson.scripts, ...(existsSync(own) && scriptsOf(own)) }
    const named = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = '']) => name)
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })

  it('links to files and headings that exist', () => {
    const anchors = (of: string): string[] =>
      [...readFileSync(of, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      )
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
    const broken = links.filter((link) => {
      if (/^https?:/.test(link)) return false
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? join(packageRoot, path) : join(packageRoot, dirname(path), file)
      return !existsSync(target) || (anchor !== undefined && !anchors(target).includes(anchor))
    })
    expect(broken).toEqual([])
  })

  it('names files and tests of this repository that exist', () => {
    const named = [
      ...text.matchAll(/(?<![\s`:]\/)\b((?:core|test|config|plugins|signers)\/[\w./-]+\.(?:ts|json|yaml))\b/g),
    ]
    const missing = named.map(([, file = '']) => file).filter((file) => !existsSync(join(packageRoot, file)))
    expect(missing).toEqual([])
  })

  it('has YAML that parses', () => {
    const blocks = [...text.matchAll(/^( *)```yaml\n([\s\S]*?)^ *```$/gm)]
    const faults = blocks.flatMap(([, , block = '']) => parseDocument(block).errors.map((error) => error.message))
    expect(faults).toEqual([])
  })
})

type Schema = {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

/** Every key of the file: `keys[].alg`, `signers.*.use`. */
const keysOf = (schema: Schema, path = ''): string[] => {
  if (schema.$ref !== undefined) return []
  const { properties = {}, items, additionalProperties: further, anyOf = [], oneOf = [] } = schema
  const named = Object.entries(properties).flatMap(([name, inner]) => {
    const key = path === '' ? name : `${path}.${name}`
    return [key, ...keysOf(inner, key)]
  })
  return [
    ...named,
    ...(items === undefined ? [] : keysOf(items, `${path}[]`)),
    ...(typeof further === 'object' ? keysOf(further, `${path}.*`) : []),
    ...[...anyOf, ...oneOf].flatMap((branch) => keysOf(branch, path)),
  ]
}

it('docs/configuration-reference.md names every key of the file, and no other', () => {
  const schema = JSON.parse(readDocument('config/schema.json')) as Schema
  const items = [...readDocument('docs/configuration-reference.md').matchAll(/^- `([^`]+)` \(.+\): \S/gm)]
  const documented = new Set(items.map(([, key = '']) => key))
  expect([...documented].toSorted()).toEqual([...new Set(keysOf(schema))].toSorted())
})

it('docs/admin-api-reference.md is up to date (npm run schema)', async () => {
  expect(readDocument('docs/admin-api-reference.md')).toBe(await generateAdminReference())
})

describe('docs/clients.md', () => {
  const path = 'docs/clients.md'

  const faultOf = (name: string): string | undefined =>
    parseClientMetadata({ client_id: 'c', [name]: null }, []).problems.find((problem) => problem.path === name)?.message

  it('names every member of client metadata', () => {
    const schema = declarationOf('core/oauth/clients/client-metadata-schema.ts', 'metadataSchema').find(
      ts.isObjectLiteralExpression,
    )
    const known = schema?.properties.map(({ name }) => (name as ts.Identifier).text) ?? []
    expect(known.length).toBeGreaterThan(20)
    expect(firstCells(section(path, 'Client metadata')).toSorted()).toEqual(known.toSorted())
    expect(known.filter((name) => /unknown|not available/.test(faultOf(name) ?? ''))).toEqual([])
  })

  it('names every member of client metadata that is refused', () => {
    const refused = stringsIn(declarationOf('core/oauth/clients/client-metadata-schema.ts', 'notAvailable'))
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.filter((name) => faultOf(name) !== 'not available in this version')).toEqual([])
    const documented = section(path, 'What this version refuses')
    expect(refused.filter((name) => !documented.includes(`\`${name}\``))).toEqual([])
  })
})

describe('docs/configuration.md', () => {
  const path = 'docs/configuration.md'

  it('shows the problems as they are printed', async () => {
    const file = join(directory, 'ten-problems.yaml')
    writeFileSync(file, codeBlock(path, 'ten-problems.yaml'))
    const error = await checkConfiguration(file, {}, loadPages).catch((caught: unknown) => caught)
    const printed = (error as ConfigurationError).problems.map(formatProblem)
    const [, shown = ''] = /^```text\n([\s\S]*?)\n```$/m.exec(section(path, 'Problems')) ?? []
    expect(printed).toHaveLength(10)
    expect(shown.split('\n')).toEqual(printed)
  })
})

it('docs/audit-log.md has a heading for every event of the audit log, and for no other', () => {
  const events = stringsIn(declarationOf('core/observe/audit.ts', 'AuditEventName'))
  expect(events.length).toBeGreaterThan(15)
  const headings = [...readDocument('docs/audit-log.md').matchAll(/^#### (.+)$/gm)].map(([, names = '']) => names)
  const documented = headings.flatMap((names) => names.split(', ').map((name) => name.replaceAll('`', '')))
  expect(documented.toSorted()).toEqual(events.toSorted())
})

it('docs/storage.md names every collection', () => {
  const ports = /^(records|oneTime|refreshFamilies|revocations|counters|deviceCodes|replayGuard)$/
  const named = ['core/collections/collections.ts', 'core/collections/quotas.ts', 'core/interaction/accounts.ts']
    .flatMap(parse)
    .filter(ts.isCallExpression)
    .filter(({ expression }) => ts.isPropertyAccessExpression(expression) && ports.test(expression.name.text))
    .flatMap((call) => stringsIn(call.arguments))
  const documented = firstCells(section('docs/storage.md', 'Collections'))
  expect(documented.toSorted()).toEqual(named.toSorted())
})
