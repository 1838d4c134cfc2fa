import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../config/load.js'
import { loadModules } from '../../core/modules/load-modules.js'
import { folderWith, minimal } from '../support/server/config-files.js'

/** A plugin in plain JavaScript, as a deployer writes one. */
const plugin = (members = '') => `export default { name: 'loan', apiVersion: 1, create: () => ({}), ${members} }\n`

/** A Standard Schema without any library: options must have a `product` that is text. */
const schema = `options: { '~standard': { version: 1, vendor: 'own', validate: (value) =>
  typeof value?.product === 'string' ? { value: { product: value.product.toUpperCase() } }
    : { issues: [{ message: 'must be text, not ' + String(value?.product), path: [{ key: 'product' }] }] } } }`

const load = async (entries: string, files: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv = {}) => {
  const folder = await folderWith({ 'signet.yaml': minimal(entries), ...files })
  const { salvaged, file, problems } = await readConfig(join(folder, 'signet.yaml'), env)
  expect(problems).toEqual([])
  return loadModules(salvaged, file)
}

const loadPlugin = async (text: string, options = '') =>
  load(`plugins: [{ use: ./loan.js, ${options} }]`, { 'loan.js': text, 'package.json': '{"type":"module"}' })

const esm = '{"type":"module"}'

describe('where modules come from', () => {
  it('are this package, a file beside the configuration, or npm packages beside it', async () => {
    const { plugins, signers, problems } = await load(
      `plugins:
  - use: plugins/grants/client-credentials
  - use: ./grants/loan.js
  - use: '@acme/signet-loan'
  - use: signet-card/grant
  - use: signet-plain`,
      {
        'package.json': esm,
        'grants/loan.js': plugin(),
        'node_modules/@acme/signet-loan/package.json':
          '{"type":"module","exports":{"types":"./none.d.ts","import":"./dist/main.js"}}',
        'node_modules/@acme/signet-loan/dist/main.js': plugin().replace('loan', 'acme'),
        'node_modules/signet-card/package.json':
          '{"type":"module","exports":{".":"./none.js","./grant":{"require":"./none.cjs","default":"./grant.js"}}}',
        'node_modules/signet-card/grant.js': plugin().replace('loan', 'card'),
        'node_modules/signet-plain/package.json': '{"main":"lib/plain.mjs"}',
        'node_modules/signet-plain/lib/plain.mjs': plugin().replace('loan', 'plain'),
      },
    )
    expect(problems).toEqual([])
    expect(plugins.map(({ path, module }) => `${path} ${module.name}`)).toEqual([
      'plugins[0] grants/client-credentials',
      'plugins[1] loan',
      'plugins[2] acme',
      'plugins[3] card',
      'plugins[4] plain',
    ])
    expect([...signers.keys()]).toEqual(['local'])
    expect(signers.get('local')?.options).toEqual({ directory: './keys', create: false })
  })

  it.each([
    ['plugins/grants/client-credential', /did you mean `plugins\/grants\/client-credentials`/],
    ['plugins/../core/host', /unknown/],
    ['plugins/grants', /unknown/],
    ['plugins', /unknown/],
    ['signers/local', /must be one of plugins/],
    ['./none.js', /no such file/],
    ['../none.js', /no such file/],
    ['no-such-package', /this npm package is not installed/],
    ['@acme/none/sub', /this npm package is not installed/],
    ['node:fs', /this npm package is not installed/],
    ['https://evil.example/x.js', /this npm package is not installed/],
    ['data:text/javascript,1', /this npm package is not installed/],
  ])('%s is refused', async (use, message) => {
    const { plugins, problems } = await load(`plugins: [{ use: '${use}' }]`, {})
    expect(plugins).toEqual([])
    expect(problems).toEqual([{ path: 'plugins[0].use', message: expect.stringMatching(message) }])
  })

  it('an unexported file of a package is refused', async () => {
    const { problems } = await load("plugins: [{ use: 'closed/secret.js' }]", {
      'node_modules/closed/package.json': '{"exports":"./index.js"}',
      'node_modules/closed/secret.js': plugin(),
    })
    expect(problems).toHaveLength(1)
  })
})

describe('the form of a module', () => {
  it.each([
    ['export const x = 1', /no default export/],
    ['export default 7', /no default export/],
    [plugin().replace('apiVersion: 1', 'apiVersion: 2'), /apiVersion 2, .* supports apiVersion 1/],
    [plugin().replace('apiVersion: 1,', ''), /has no apiVersion: write `apiVersion: 1`/],
    [plugin().replace("'loan'", "''"), /has no name/],
    [plugin().replace('create: () => ({})', 'create: {}'), /no create function/],
    [plugin('options: {}'), /not a Standard Schema/],
    [plugin("needs: ['storage']"), /needs the service storage, which does not exist/],
    [plugin("needs: ['clocks']"), /did you mean `clock`/],
    [plugin("needs: ['toString']"), /needs the service toString/],
    [plugin("needs: 'clock'"), /needs that are not a list/],
  ])('%s', async (text, message) => {
    const { plugins, problems } = await loadPlugin(text)
    expect(plugins).toEqual([])
    expect(problems).toEqual([{ path: 'plugins[0].use', message: expect.stringMatching(message) }])
  })

  // The places in them: test/cli/check.flow.test.ts, in a process that nothing transforms.
  it.each([
    ['throw new Error("at import")', /^cannot be loaded: at import \(\/\S+\/loan\.js:1:7\)$/],
    ['export default {', /^cannot be loaded: /],
  ])('%s', async (text, message) => {
    const { problems } = await loadPlugin(text)
    expect(problems).toMatchObject([{ path: 'plugins[0].use', message: expect.stringMatching(message) }])
  })

  it('reports all problems of all modules', async () => {
    const { problems } = await load('plugins: [{ use: ./a.js }, { use: ./b.js }, { use: ./c.js }]\n', {
      'package.json': esm,
      'a.js': 'export default {}',
      'b.js': plugin(),
      'c.js': plugin("needs: ['x']"),
    })
    expect(problems.map(({ path }) => path)).toEqual([...Array<string>(3).fill('plugins[0].use'), 'plugins[2].use'])
  })
})

describe('the options of a module', () => {
  it('are those that its schema returns', async () => {
    const { plugins, problems } = await loadPlugin(plugin(schema), 'options: { product: loan }')
    expect(problems).toEqual([])
    expect(plugins[0]?.options).toEqual({ product: 'LOAN' })
  })

  it('are refused if the module takes none', async () => {
    const { problems } = await loadPlugin(plugin(), 'options: { product: loan }')
    expect(problems).toEqual([{ path: 'plugins[0].options', message: 'this module takes no options' }])
  })

  it('absent options are empty ones', async () => {
    const { problems } = await loadPlugin(plugin(schema))
    expect(problems).toEqual([{ path: 'plugins[0].options.product', message: 'must be text, not undefined' }])
  })

  it('contain secrets in the clear, which no message repeats', async () => {
    const files = { 'package.json': esm, 'loan.js': plugin(schema), 'key.txt': '42-s3cret\n' }
    const good = await load('plugins: [{ use: ./loan.js, options: { product: { $env: PRODUCT } } }]', files, {
      PRODUCT: 'loan',
    })
    expect(good.plugins[0]?.options).toEqual({ product: 'LOAN' })

    const strict = schema.replace("typeof value?.product === 'string'", "value.product === 'x'")
    const bad = await load('plugins: [{ use: ./loan.js, options: { product: { $file: key.txt } } }]', {
      ...files,
      'loan.js': plugin(strict),
    })
    expect(bad.problems).toEqual([{ path: 'plugins[0].options.product', message: 'must be text, not [secret]' }])
  })

  it('a schema that fails is a problem, not a crash', async () => {
    const broken = plugin("options: { '~standard': { validate() { throw new Error('x') } } }")
    expect((await loadPlugin(broken)).problems).toEqual([
      { path: 'plugins[0].options', message: 'the module failed to check its options' },
    ])
  })

  it('a signer’s options are checked in the same way', async () => {
    const folder = await folderWith({ 'signet.yaml': minimal().replace('directory: ./keys', 'directry: ./keys') })
    const { salvaged, file } = await readConfig(join(folder, 'signet.yaml'), {})
    expect((await loadModules(salvaged, file)).problems).toEqual([
      { path: 'signers.local.options.directry', message: 'unknown key; did you mean `directory`?' },
    ])
  })

  it.each([
    ['module: /lib/x.so, token: bank, pin: ""', 'pin', 'must not be empty'],
    [`module: /lib/x.so, token: bank, pin: ${'1'.repeat(300)}x`, 'pin', 'must have at most 255 characters'],
    ['module: /lib/x.so, token: bank, pin: "1234", sessions: 0', 'sessions', 'must be at least 1'],
  ])('bounds are described in words: %s', async (options, member, message) => {
    const hsm = `{ use: signers/pkcs11, options: { ${options} } }`
    const folder = await folderWith({ 'signet.yaml': minimal().replace('signers: {', `signers: { hsm: ${hsm},`) })
    const { salvaged, file } = await readConfig(join(folder, 'signet.yaml'), {})
    expect((await loadModules(salvaged, file)).problems).toEqual([{ path: `signers.hsm.options.${member}`, message }])
  })
})
