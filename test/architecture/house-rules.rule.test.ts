import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { alikeOnEveryStore, slow } from '../support/services/parts.js'

const skipped = /(^|\/)(node_modules|dist|broken-tree)\//

const filesUnder = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file}`)
    .filter((file) => ending.test(file) && !skipped.test(file))

const read = (file: string): string => readFileSync(join(packageRoot, file), 'utf8')

describe('house rules', () => {
  it('core/api only re-exports', () => {
    const door = filesUnder('core/api', /\.ts$/)
    expect(door).not.toHaveLength(0)
    for (const file of door) {
      const others = ts
        .createSourceFile(file, read(file), ts.ScriptTarget.Latest)
        .statements.filter(
          (statement) => !(ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined),
        )
      expect(others, file).toHaveLength(0)
    }
  })

  it('the package exports each entry of core/api except the internal one', () => {
    const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, { default?: string }> }
    const exported = Object.values(exports).map((target) => target.default ?? '')
    const entries = filesUnder('core/api', /\.ts$/).map((file) => `./dist/${file.replace(/ts$/, 'js')}`)
    const promised = entries.filter((entry) => !entry.endsWith('/internal.js'))
    expect(promised).toHaveLength(entries.length - 1)
    expect(exported.filter((entry) => entry.includes('/core/api/')).sort()).toEqual(promised.sort())
  })

  it('the lock file names no host, so that npm asks the registry that is configured', () => {
    const lock = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { integrity?: string; resolved?: string }>
    }
    const packages = Object.entries(lock.packages).filter(([path]) => path !== '')
    expect(packages.length).toBeGreaterThan(100)
    expect(packages.filter(([, entry]) => entry.resolved !== undefined)).toEqual([])
    expect(packages.filter(([, entry]) => entry.integrity === undefined)).toEqual([])
  })

  it('the file name of each test states its kind, which selects it', () => {
    const tests = filesUnder('test', /\.test\.ts$/)
    expect(tests.length).toBeGreaterThan(100)
    const kind = /\.(unit|flow|attack|contract|race|fault|load|browser|recipe|rule)\.test\.ts$/
    expect(tests.filter((file) => !kind.test(file))).toEqual([])
  })

  it('shared test code sets nothing up on import, because files share their imports', () => {
    const shared = filesUnder('test/support', /\.ts$/)
    expect(shared.length).toBeGreaterThan(50)
    expect(shared.filter((file) => /^(before|after)(All|Each)\(/m.test(read(file)))).toEqual([])
  })

  it('every test file listed for another project exists', () => {
    const named = [...slow, ...alikeOnEveryStore].filter((file) => !file.includes('*'))
    expect(named.length).toBeGreaterThan(30)
    expect(named.filter((file) => !existsSync(join(packageRoot, file)))).toEqual([])
  })

  it('no service runs on fake timers, because its waits would never end', () => {
    const stopping = filesUnder('test', /\.test\.ts$/).filter((file) => /useFakeTimers\(\)/.test(read(file)))
    expect(stopping.length).toBeGreaterThan(0)
    expect(stopping.filter((file) => !file.endsWith('.unit.test.ts'))).toEqual([])
  })
})
