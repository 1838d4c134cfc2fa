import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { searchedCollections } from '../../core/collections/searched.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { searchIndexName, withSearchIndex, type SearchEntry } from '../../core/storage/search-index.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'

let path: string
let now = Date.now()
let store: StorageBackend
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'signet-entries-'))
  store = await openEmbedded({ path, clock: () => now, max_size_mb: 100 })
})
afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await rm(path, { recursive: true, force: true })
})

it('writes the entries of more records at once than single changes may wait', async () => {
  const accounts = withSearchIndex(store, searchedCollections, Date.now).records<object>('accounts')
  const words = Array.from({ length: 12 }, (_, index) => `word${String(index)}`).join(' ')
  const ids = Array.from({ length: 500 }, (_, index) => `person${String(index)}`)
  await Promise.all(ids.map((id) => accounts.put(id, { sub: id, username: id, claims: { name: words } })))
  const entries = await store.records<SearchEntry>(searchIndexName).list(undefined, 10_000)
  expect(entries).toHaveLength(500 * 13)
  expect(await accounts.list(undefined, 1000)).toHaveLength(500)
})

it('stores no record whose entries were refused', async () => {
  const refusing: StorageBackend = {
    ...store,
    records: (name) => ({
      ...store.records(name),
      ...(name === searchIndexName && { putAll: () => Promise.reject(new Error('refused')) }),
    }),
  }
  const accounts = withSearchIndex(refusing, searchedCollections, Date.now).records<object>('accounts')
  await expect(accounts.put('ada', { sub: 'ada', username: 'ada', claims: {} })).rejects.toThrow('refused')
  expect(await accounts.find('ada')).toBeUndefined()
})

it('replaces what is there, and lets records expire', async () => {
  const records = store.records<number>('some')
  await records.putAll?.([
    { id: 'a', record: 1, ttlSeconds: 60 },
    { id: 'b', record: 1 },
  ])
  await records.putAll?.([{ id: 'b', record: 2 }])
  expect(await records.list(undefined, 5)).toEqual([
    { id: 'a', record: 1 },
    { id: 'b', record: 2 },
  ])
  now += 60_000
  expect(await records.list(undefined, 5)).toEqual([{ id: 'b', record: 2 }])
})
