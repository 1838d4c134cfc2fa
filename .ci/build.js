import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeAdminClient } from './admin-client.js'

// Builds `dist/`. Without arguments the compiler checks types and writes what has changed. `--for-start` writes what has
// changed without checking types, in a fraction of the time: a start must not wait for what CI has checked. `--for-git`
// builds only within `npm install`, by which npm prepares a package that it has from Git, and runs `preprepare` (it takes no
// notice of `prepack` there, and would take `prepare` for an install script of the package). `npm ci` in a checkout, which
// installs for `npm start`, does without.

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')
const rooms = ['core', 'plugins', 'signers', 'stores', 'config', 'libraries']

const modified = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Relative paths, without their ending, of the modules whose compiled form is missing or older than the source. */
const outdated = () =>
  rooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
      .map((file) => join(room, file.slice(0, -'.ts'.length)))
      .filter((module) => modified(join(dist, `${module}.js`)) < modified(join(root, `${module}.ts`))),
  )

/** A plugin that was renamed must not stay loadable under its old name. */
const removeStale = () => {
  if (!existsSync(dist)) return
  for (const file of readdirSync(dist, { recursive: true })) {
    const source = file.match(/^(.+?)\.(?:js|d\.ts)(?:\.map)?$/)?.[1]
    const isStale =
      source !== undefined && !/^(browser|admin-client)/.test(file) && !existsSync(join(root, `${source}.ts`))
    if (isStale) rmSync(join(dist, file))
  }
}

/** A build of everything takes a minute on a small machine: it says how far it is. */
const say = (text) => process.stderr.write(`${text}\n`)
const everyModules = 100

const transpile = async (modules) => {
  say(`Building ${modules.length} modules ...`)
  const { default: ts } = await import('typescript')
  const { config } = ts.readConfigFile(join(root, 'tsconfig.build.json'), (path) => readFileSync(path, 'utf8'))
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root)
  // Every module is an ES module: package.json says so, which a module by itself does not show.
  const compilerOptions = { ...options, declaration: false, module: ts.ModuleKind.ESNext }
  for (const [index, module] of modules.entries()) {
    if (index > 0 && index % everyModules === 0) say(`Built ${index} of ${modules.length} modules`)
    const source = join(root, `${module}.ts`)
    const output = join(dist, `${module}.js`)
    const { outputText, sourceMapText } = ts.transpileModule(readFileSync(source, 'utf8'), {
      fileName: source,
      compilerOptions,
    })
    mkdirSync(dirname(output), { recursive: true })
    writeFileSync(output, outputText)
    if (sourceMapText !== undefined) writeFileSync(`${output}.map`, sourceMapText)
  }
}

const compile = () => {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  // The libraries run in browsers too, whose types the server does not have.
  for (const [project, what] of [
    ['tsconfig.build.json', 'Compiling the service and checking its types ...'],
    ['libraries', 'Compiling the libraries ...'],
  ]) {
    say(what)
    const { status } = spawnSync(process.execPath, [tsc, '-p', project], { cwd: root, stdio: 'inherit' })
    process.exitCode ||= status ?? 1
  }
}

/** The modules that pages load, each bundled with its packages: `signet-idp/device`, WebAuthn, and the charts of the console. */
const bundles = {
  'signet-device': join(root, 'libraries/device/index.ts'),
  webauthn: fileURLToPath(import.meta.resolve('@simplewebauthn/browser')),
  uplot: createRequire(import.meta.url).resolve('uplot/dist/uPlot.esm.js'),
  'uplot-style': createRequire(import.meta.url).resolve('uplot/dist/uPlot.min.css'),
}

/** By the esbuild that comes with tsx. */
const bundle = async () => {
  say('Bundling what pages load ...')
  const esbuild = createRequire(createRequire(import.meta.url).resolve('tsx'))('esbuild')
  await esbuild.build({
    entryPoints: bundles,
    outdir: join(dist, 'browser'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'error',
  })
}

/** Writes what runs, as CycloneDX, which the auditor's pack has. An unpacked package keeps the one that it was packed with. */
const writeSbom = () => {
  const [lock, sbom] = [join(root, 'package-lock.json'), join(dist, 'sbom.json')]
  if (!existsSync(lock) || modified(sbom) > Math.max(modified(lock), modified(join(root, 'package.json')))) return
  const { status, stdout } = spawnSync(process.execPath, [join(root, '.ci', 'sbom.js')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status === 0) writeFileSync(sbom, stdout)
  else process.exitCode ||= 1
}

/** Writes the commit of this checkout, which `--version` prints. An unpacked package keeps the commit that it was packed with. */
const writeCommit = () => {
  if (!existsSync(join(root, '.git'))) return
  const { status, stdout } = spawnSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root, encoding: 'utf8' })
  if (status === 0 && existsSync(dist)) writeFileSync(join(dist, 'commit'), stdout.trim())
}

if (process.argv.includes('--for-start')) {
  const modules = outdated()
  const isBundled = Object.entries(bundles).every(([name, source]) =>
    existsSync(join(dist, 'browser', `${name}${source.endsWith('.css') ? '.css' : '.js'}`)),
  )
  if (modules.length > 0) await transpile(modules)
  if (modules.some((module) => /^core.admin-api/.test(module))) await writeAdminClient(dist)
  if (!isBundled || modules.some((module) => /^libraries.(device|wire)/.test(module))) await bundle()
} else if (!process.argv.includes('--for-git') || process.env.npm_command === 'install') {
  compile()
  await bundle()
  if (!process.exitCode) await writeAdminClient(dist)
  writeSbom()
}
removeStale()
writeCommit()
