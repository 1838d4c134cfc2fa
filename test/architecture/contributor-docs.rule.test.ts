import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { readDocument } from '../support/document.js'

const documents = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'GLOSSARY.md']

/**
 * Paths in backticks: with a folder that this repository has, or a file of its root. Placeholders have angle brackets, and
 * what `npm` makes is not ours.
 */
const pathsIn = (text: string): string[] => {
  const inRoot = new Set(readdirSync(packageRoot).filter((name) => name !== 'node_modules'))
  return [...text.matchAll(/`([\w@.-]+(?:\/[\w.-]+)*\/?)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => inRoot.has(path.split('/')[0] ?? '') || /^[.\w-]+\.(?:md|cjs|ts|json|yml)$/.test(path))
}

describe.each(documents)('%s', (name) => {
  it('names files and folders that exist', () => {
    const paths = pathsIn(readDocument(name))
    expect(paths.length).toBeGreaterThan(20)
    expect(paths.filter((path) => !existsSync(join(packageRoot, path)))).toEqual([])
  })
})

describe('ARCHITECTURE.md', () => {
  const rooms = [
    ...readdirSync(join(packageRoot, 'core'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `core/${name}`),
    'plugins',
    'signers',
    'stores',
    'config',
    'libraries/wire',
    'libraries/device',
    'libraries/verify',
  ]

  it('describes every room', () => {
    const described = [...readDocument('ARCHITECTURE.md').matchAll(/^\| `([^`]+)` /gm)].map(([, room]) => room)
    expect(rooms.filter((room) => !described.includes(room))).toEqual([])
  })
})

it('.github/workflows/ci.yml runs every part of .ci/run, on both ends of the supported Node', () => {
  const workflow = readDocument('.github/workflows/ci.yml')
  expect(workflow).toMatch(/^ +run: bash \.ci\/run \$\{\{ matrix\.part \}\}$/m)
  const [, known = ''] = /^ {2}all \| (.+)\) ;;$/m.exec(readDocument('.ci/run')) ?? []
  expect(known.split(' | ').length).toBe(4)
  expect(workflow).toContain(`part: [${known.split(' | ').join(', ')}]`)
  const { engines } = JSON.parse(readDocument('package.json')) as { readonly engines: { readonly node: string } }
  const [, floor = ''] = />=(\d+\.\d+)/.exec(engines.node) ?? []
  expect(workflow).toContain(`node: ['${floor}', '22', '${readDocument('.nvmrc').trim()}']`)
})
