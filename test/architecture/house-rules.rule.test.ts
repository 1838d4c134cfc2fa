import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'

const skipped = /(^|\/)(node_modules|dist|broken-tree)\//

const filesUnder = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file}`)
    .filter((file) => ending.test(file) && !skipped.test(file))

const read = (file: string): string => readFileSync(join(packageRoot, file), 'utf8')

const product = ['core', 'plugins', 'signers', 'config'].flatMap((room) => filesUnder(room, /\.(ts|js)$/))

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

  it('the container is named in core/host alone', () => {
    const named = product.filter((file) => /tsyringe|reflect-metadata/.test(read(file)))
    expect(named.filter((file) => !file.startsWith('core/host/'))).toEqual([])
  })

  it('no file is over 300 lines', () => {
    const all = [...product, ...filesUnder('test', /\.(ts|js|tsx)$/)]
    const long = all.filter((file) => read(file).trimEnd().split('\n').length > 300)
    expect(long).toEqual([])
  })

  it('no interface is called IThing, and nothing Impl, Manager, Helper or Util', () => {
    const named = product.filter((file) =>
      /\b(interface|class|type) (I[A-Z][a-z]\w*|\w*(Impl|Manager|Helper|Util)s?)\b/.test(read(file)),
    )
    expect(named).toEqual([])
  })

  it('the lock file names no host: the person who installs chooses the registry', () => {
    const lock = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { integrity?: string; resolved?: string }>
    }
    const packages = Object.entries(lock.packages).filter(([path]) => path !== '')
    expect(packages.length).toBeGreaterThan(100)
    expect(packages.filter(([, entry]) => entry.resolved !== undefined)).toEqual([])
    expect(packages.filter(([, entry]) => entry.integrity === undefined)).toEqual([])
  })

  it('every dependency has its reason in the README', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    const readme = read('README.md')
    const unexplained = Object.keys(dependencies).filter(
      (name) => !readme.split('\n').some((line) => line.startsWith(`| \`${name}\` `)),
    )
    expect(unexplained).toEqual([])
  })
})
