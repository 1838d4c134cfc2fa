import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ICruiseResult } from 'dependency-cruiser'
import { packageRoot } from '../../core/package-root.js'

const rooms = ['core', 'plugins', 'signers', 'stores', 'config', 'libraries', 'test', 'bench']
const rules = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as { forbidden: { name: string }[] }
const manifest = createRequire(import.meta.url)('../../package.json') as {
  readonly scripts: { readonly boundaries: string }
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

const cruise = (directory: string): ICruiseResult => {
  const program = join(packageRoot, 'node_modules/.bin/depcruise')
  const config = join(packageRoot, '.dependency-cruiser.cjs')
  const { stdout } = spawnSync(program, ['--config', config, '--output-type', 'json', ...rooms], {
    cwd: directory,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  return JSON.parse(stdout) as ICruiseResult
}

const namesOf = (result: ICruiseResult): string[] => result.summary.violations.map((violation) => violation.rule.name)

const sourcesOnDisk = (): string[] =>
  rooms.flatMap((room) =>
    readdirSync(join(packageRoot, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.includes('broken-tree/'))
      .map((file) => `${room}/${file}`),
  )

describe('boundaries', () => {
  const house = cruise(packageRoot)

  it('hold in this repository', () => {
    const violations = house.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)
    expect(violations).toEqual([])
  })

  it('were checked in every source file', () => {
    const onDisk = sourcesOnDisk()
    expect(onDisk.length).toBeGreaterThan(20)
    const visited = house.modules.map((module) => module.source).filter((source) => source.endsWith('.ts'))
    expect(visited).toEqual(expect.arrayContaining(onDisk))
  })

  it('include type imports, which the compiler removes', () => {
    const door = house.modules.find((module) => module.source === 'core/api/index.ts')
    expect(door?.dependencies.map((dependency) => dependency.resolved)).toContain('core/clock.ts')
  })

  it('find every runtime dependency imported by the product', () => {
    const imported = house.modules.flatMap((module) => module.dependencies.map((dependency) => dependency.module))
    const installed = Object.keys({
      ...manifest.dependencies,
      ...manifest.peerDependencies,
      ...manifest.optionalDependencies,
    })
    const idle = installed.filter((name) => !imported.some((from) => from === name || from.startsWith(`${name}/`)))
    expect(idle).toEqual([])
  })

  it('are those of `npm run boundaries`', () => {
    expect(manifest.scripts.boundaries).toBe(
      `npm run --silent build && depcruise --config .dependency-cruiser.cjs ${rooms.join(' ')}`,
    )
  })
})

describe('every boundary rule', () => {
  const reported = new Set(namesOf(cruise(join(packageRoot, 'test/architecture/broken-tree'))))

  it.each(rules.forbidden.map((rule) => rule.name))('%s is reported where it is broken', (name) => {
    expect(reported).toContain(name)
  })
})
