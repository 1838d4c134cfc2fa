import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { configuration, openCommandLine } from '../support/server/command-line.js'
import { readDocument } from '../support/document.js'

const directory = mkdtempSync(join(tmpdir(), 'signet-ship-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Runs in the folder of the package; throws with what was said. */
const run = (command: string, ...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: packageRoot, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
  return stdout
}

describe('the Dockerfile', () => {
  const stages = readDocument('Dockerfile')
    .replaceAll(/\\\n/g, ' ')
    .split(/^(?=FROM )/m)
  const last = stages.at(-1)!
  const allowed = readDocument('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1))

  it('ends in a stage without root and compiler, with a health check', () => {
    expect(last).toMatch(/^FROM \$\{RUN_IMAGE\} AS run$/m)
    expect(readDocument('Dockerfile')).toMatch(/^ARG RUN_IMAGE=node:24-bookworm-slim$/m)
    const users = [...last.matchAll(/^USER (.+)$/gm)].map(([, user]) => user)
    expect(users).toEqual(['1000:1000'])
    expect(last.indexOf('RUN ')).toBeLessThan(last.indexOf('USER '))
    expect(last).toMatch(/^HEALTHCHECK .*CMD \["node", "\/app\/deploy\/health-check\.js", "live"\]$/m)
    expect(last).toMatch(/^ENV SIGNET_CONFIG=\/config\/signet\.yaml$/m)
    expect(last).toMatch(/^CMD \["start"\]$/m)
    expect(last).toMatch(/^VOLUME \/data$/m)
    expect(last).toContain('ln -s /app/bin/signet.js /usr/local/bin/signet')
  })

  it('keeps temporary files, such as worker sockets, in the volume, because the root file system is read-only', () => {
    expect(last).toMatch(/^ENV TMPDIR=\/data$/m)
  })

  it('puts only runtime dependencies and the content of the package into the image', () => {
    const copied = [...last.matchAll(/^COPY (?:--from=\w+ )?(\S+) (\S+)$/gm)].map(([, from, to]) => [from, to])
    expect(copied).toEqual([
      ['/src/node_modules', '/app/node_modules'],
      ['/src/package', '/app'],
      ['deploy/health-check.js', '/app/deploy/health-check.js'],
    ])
    expect(stages.find((stage) => stage.includes('AS dependencies'))).toContain('npm ci --omit=dev --ignore-scripts')
  })

  it('sees only the files that the build needs', () => {
    expect(readDocument('.dockerignore')).toMatch(/^\*$/m)
    expect(allowed.filter((path) => !existsSync(join(packageRoot, path)))).toEqual([])
    const { include, extends: base } = JSON.parse(readDocument('tsconfig.build.json')) as Record<string, string[]>
    const needed = [...include!, String(base).replace('./', ''), 'tsconfig.build.json', '.ci/build.js', 'package.json']
    const sources = [...readDocument('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) =>
      from.split(' ').filter((path) => path !== '.'),
    )
    expect([...needed, ...sources].filter((path) => !allowed.includes(path))).toEqual([])
  })
})

describe('the package, which is what the image holds', () => {
  const unpack = (): string => {
    const [packed] = JSON.parse(
      run('npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', directory),
    ) as readonly { readonly filename: string }[]
    run('tar', '-xzf', join(directory, packed!.filename), '-C', directory)
    const product = join(directory, 'package')
    symlinkSync(join(packageRoot, 'node_modules'), join(product, 'node_modules'))
    return product
  }
  const product = unpack()
  const healthCheck = (question: string, admin: string, tokenFile?: string) => {
    const env = { ...process.env, SIGNET_ADMIN_URL: admin, ...(tokenFile && { SIGNET_ADMIN_TOKEN_FILE: tokenFile }) }
    const script = join(packageRoot, 'deploy', 'health-check.js')
    const { status, stdout } = spawnSync(process.execPath, [script, question], { env, encoding: 'utf8' })
    return { status, stdout }
  }

  it('has no source, no test and no secret', () => {
    const files = readdirSync(product, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
      .map((entry) => join(entry.parentPath, entry.name).slice(product.length + 1))
    expect(files.filter((file) => /(?<!\.d)\.ts$|(^|\/)(test|data)\/|\.pem$|\.jsonl$|deploy\//.test(file))).toEqual([])
    expect(files).toContain('dist/core/main.js')
  })

  it('has a command that works before the build and reports what is missing', () => {
    const { bin } = JSON.parse(readDocument('package.json')) as { bin: Record<string, string> }
    expect(bin).toEqual({ signet: 'bin/signet.js', 'signet-idp': 'bin/signet.js' })
    const link = join(directory, 'signet')
    symlinkSync(join(product, 'bin/signet.js'), link)
    expect(run(process.execPath, link, 'help')).toContain('Usage: signet')

    const checkout = join(directory, 'checkout')
    cpSync(join(packageRoot, 'bin'), join(checkout, 'bin'), { recursive: true })
    cpSync(join(packageRoot, 'package.json'), join(checkout, 'package.json'))
    const command = join(checkout, 'bin/signet.js')
    expect(statSync(command).mode & 0o111).toBe(0o111)
    const unbuilt = spawnSync(command, ['check'], { encoding: 'utf8' })
    expect(unbuilt).toMatchObject({ status: 1, stdout: '', stderr: 'Signet is not built yet: npm run build\n' })

    const older = 'Object.defineProperty(process, "versions", { value: { node: "20.18.3" } })'
    const old = spawnSync(process.execPath, ['--import', `data:text/javascript,${older}`, link], { encoding: 'utf8' })
    const needed = 'Signet needs Node 20.19 or later; this is 20.18.3.\n'
    expect(old).toMatchObject({ status: 1, stdout: '', stderr: needed })
  })

  it('serves pages and tokens, and answers the health check of the image', async () => {
    await using cli = await openCommandLine(product)
    await cli.write('admin-token', 'token-of-the-admin-listener\n')
    await cli.write('wrong-token', 'another-token')
    const clients = `
clients:
  - { client_id: reports, client_secret: a-secret-for-this-test-of-256-bits, grant_types: [client_credentials] }`
    const file = configuration(clients).replace(
      'admin: { host: 127.0.0.1, port: 0 }',
      'admin: { host: 0.0.0.0, port: 0, token: { $file: admin-token } }',
    )
    await cli.write('signet.yaml', file)
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    const token = await fetch(`${service.public}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa('reports:a-secret-for-this-test-of-256-bits')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    expect(token.status).toBe(200)
    // The page of an error is a template, which is not code.
    const page = await fetch(`${service.public}/authorize`, { headers: { Accept: 'text/html' } })
    expect(await page.text()).toContain('Authorization error')

    const admin = service.admin.replace('0.0.0.0', '127.0.0.1')
    const tokenFile = join(cli.folder, 'admin-token')
    expect(healthCheck('live', admin)).toEqual({ status: 0, stdout: '{"status":"live"}' })
    const ready = healthCheck('ready', admin, tokenFile)
    expect(ready).toMatchObject({ status: 0, stdout: expect.stringContaining('"status":"ready"') })
    expect(healthCheck('ready', admin).status).toBe(1)
    expect(healthCheck('ready', admin, join(cli.folder, 'wrong-token')).status).toBe(1)

    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)
    expect(healthCheck('live', admin).status).toBe(1)
  })
})

interface LockedPackage {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

describe('the bill of materials', () => {
  it('lists runtime dependencies, and no build or test dependency', () => {
    const bill = JSON.parse(run('npm', 'run', '--silent', 'sbom')) as {
      bomFormat: string
      metadata: { component: { name: string; version: string } }
      components: readonly { name: string; version: string; purl: string }[]
    }
    const lock = JSON.parse(readDocument('package-lock.json')) as {
      packages: Record<string, LockedPackage>
    }
    const paths = new Set<string>()
    const visit = (name: string, from: string): void => {
      const path = `${from}${from === '' ? '' : '/'}node_modules/${name}`
      const found = lock.packages[path]
      if (found === undefined)
        return from === '' ? undefined : visit(name, from.replace(/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/, ''))
      if (paths.has(path)) return
      paths.add(path)
      for (const needed of Object.keys({ ...found.dependencies, ...found.optionalDependencies })) visit(needed, path)
    }
    const { dependencies, peerDependencies, optionalDependencies } = lock.packages['']!
    for (const name of Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })) visit(name, '')
    const running = [...paths].map((path) => `${path.replace(/^.*node_modules\//, '')}@${lock.packages[path]!.version}`)
    const named = new Set(bill.components.map(({ name, version }) => `${name}@${version}`))
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'signet-idp' } } })
    expect(named).toEqual(new Set(running))
    expect([...named].filter((one) => /^(vitest|typescript|eslint)@/.test(one))).toEqual([])
  })
})

describe('SECURITY.md and the threat model', () => {
  it('link to existing targets', () => {
    const links = [...readDocument('SECURITY.md').matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link = '']) => link)
    expect(links.length).toBeGreaterThan(0)
    expect(links.filter((link) => !existsSync(join(packageRoot, link)))).toEqual([])
  })

  it('prove each measure by an existing test', () => {
    const rows = readDocument('docs/threat-model.md')
      .split('\n')
      .filter((line) => /^\| T\d/.test(line))
    expect(rows.length).toBeGreaterThan(25)
    const testsOf = (row: string) => [...row.matchAll(/`(test\/[\w./-]+)`/g)].map(([, file = '']) => file)
    expect(rows.filter((row) => testsOf(row).length === 0)).toEqual([])
    const missing = rows.flatMap(testsOf).filter((file) => !existsSync(join(packageRoot, file)))
    expect(missing).toEqual([])
  })
})

it('alerts link to a heading of a document', () => {
  const headings = (document: string) =>
    [...readDocument(document).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
  const runbooks = [...readDocument('deploy/alerts.yml').matchAll(/runbook: (\S+)#(\S+)/g)]
  const alerts = [...readDocument('deploy/alerts.yml').matchAll(/- alert: /g)]
  expect(runbooks).toHaveLength(alerts.length)
  expect(runbooks.filter(([, document = '', anchor = '']) => !headings(document).includes(anchor))).toEqual([])
})
