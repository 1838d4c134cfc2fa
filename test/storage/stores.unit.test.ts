import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Secret } from '../../config/secret.js'
import { findMissingStore, isEmbedded, openStores } from '../../core/collections/stores.js'

// How the stores that a configuration names are opened.

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signet-stores-'))
})
afterAll(() => rm(directory, { recursive: true }))

const choice = (use: string, options?: unknown) => ({ use, options, directory })

describe('two roles', () => {
  it('share one store when both name the same, whatever they leave to its defaults', async () => {
    const path = join(directory, 'shared')
    await using stores = await openStores(
      {
        storage: {
          records: choice('embedded', { path }),
          ephemeral: choice('stores/embedded', { path: new Secret(path), max_size_mb: 1024 }),
        },
      },
      Date.now,
    )
    expect(stores.ephemeral).toBe(stores.records)
  })

  it('have a store each when their options differ', async () => {
    const storage = {
      records: choice('embedded', { path: join(directory, 'one') }),
      ephemeral: choice('embedded', { path: join(directory, 'two') }),
    }
    await using stores = await openStores({ storage }, Date.now)
    expect(stores.ephemeral).not.toBe(stores.records)
  })
})

describe('a store that would be created', () => {
  it('is named with its full path, and no more once it is there', async () => {
    const path = join(directory, 'new')
    const storage = { records: choice('embedded', { path }), ephemeral: choice('embedded', { path }) }
    expect(await findMissingStore({ storage })).toEqual({ component: 'storage.records', path })
    await (await openStores({ storage }, Date.now))[Symbol.asyncDispose]()
    expect(await findMissingStore({ storage })).toBeUndefined()
  })
})

describe('an option that only opening shows to be wrong', () => {
  const uri = new Secret('mongodb://signet:canary@db.example/?retires=1')
  const mongodb = choice('mongodb', { uri })

  it('is a problem of the configuration, at its path', async () => {
    const opening = openStores({ storage: { records: mongodb, ephemeral: mongodb } }, Date.now)
    await expect(opening).rejects.toMatchObject({
      problems: [{ path: 'storage.records.options.uri', message: expect.stringContaining('retires') as string }],
    })
  })

  it('is one for a store of a deployer too', async () => {
    // Another copy of the package, as the store's own would be.
    const api = new URL('../../dist/core/api/storage.js', import.meta.url).href
    await writeFile(
      join(directory, 'own.js'),
      `import { BadOption, defineStorage } from ${JSON.stringify(api)}
       export default defineStorage({
         name: 'own', apiVersion: 1, contract: 4,
         open: async () => { throw new BadOption('region', 'is not one that exists') },
       })`,
    )
    const own = choice('./own.js')
    const opening = openStores({ storage: { records: own, ephemeral: own } }, Date.now)
    await expect(opening).rejects.toMatchObject({
      problems: [{ path: 'storage.records.options.region', message: 'is not one that exists' }],
    })
  })
})

it.each([
  ['embedded', true],
  ['stores/embedded', true],
  ['mongodb', false],
  ['./embedded', false],
])('%s is a store of this process: %s', (use, expected) => {
  expect(isEmbedded(choice(use))).toBe(expected)
})
