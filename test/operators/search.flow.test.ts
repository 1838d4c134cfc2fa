import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { indexForSearch } from '../../core/collections/searched.js'
import { searchIndexName, type SearchEntry } from '../../core/storage/search-index.js'
import { wordsOf } from '../../core/storage/search-terms.js'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'
import { openTestRecords } from '../support/stores/test-stores.js'

let server: OperatorServer
let operator: AskApi
beforeAll(async () => {
  server = await startOperatorServer()
  operator = await server.as('operator')
})
afterAll(() => server[Symbol.asyncDispose]())

const addClient = async (client_id: string, client_name: string): Promise<void> => {
  const body = { client_id, client_name, grant_types: ['client_credentials'], redirect_uris: [] }
  const added = await operator('/clients', { method: 'POST', body })
  expect(added.status, JSON.stringify(added.body)).toBe(201)
}

const addPerson = async (username: string, claims: object, sub?: string): Promise<string> => {
  const body = { username, claims, ...(sub !== undefined && { sub }) }
  const added = await operator('/people', { method: 'POST', body })
  expect(added.status, JSON.stringify(added.body)).toBe(201)
  return (added.body as { sub: string }).sub
}

const ids = async (list: 'clients' | 'people', search: string): Promise<readonly string[]> => {
  const { status, body } = await operator(`/${list}?${String(new URLSearchParams({ search }))}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body.items.map((item: { client_id?: string; username?: string }) => item.client_id ?? item.username)
}

const change = async (path: string, body: object): Promise<void> => {
  const etag = (await operator(path)).headers.get('etag')!
  const { status } = await operator(path, { method: 'PATCH', body, headers: { 'If-Match': etag } })
  expect(status).toBe(200)
}

describe('a search for clients', () => {
  it('finds words of the name and the id by their beginning, without case and accents', async () => {
    await addClient('quay-shop', 'Größter Laden Zürichs')
    await addClient('0b9f6f0e-1111-4222-8333-444455556666', 'متجر الكتب')
    await addClient('till', 'Café Kasse Bell')
    for (const [search, found] of [
      ['quay', ['quay-shop']],
      ['SHO', ['quay-shop']],
      ['zurich grosster', []],
      ['zuri gro', ['quay-shop']],
      ['ZÜRICHS laden', ['quay-shop']],
      ['café', ['till']],
      ['CAFE kasse', ['till']],
      ['bell', ['till']],
      ['متجر', ['0b9f6f0e-1111-4222-8333-444455556666']],
      ['0b9f6f0e', ['0b9f6f0e-1111-4222-8333-444455556666']],
      ['0B9F6F0E-1111-42', ['0b9f6f0e-1111-4222-8333-444455556666']],
      ['0b9f6f0e-2', []],
      ['quay-shop', ['quay-shop']],
      ['eb', []],
      ['shop zzz', []],
    ] as const)
      expect(await ids('clients', search), search).toEqual(found)
  })

  it('follows changes and removals', async () => {
    await addClient('moving', 'Before')
    await change('/clients/moving', { client_name: 'After' })
    expect(await ids('clients', 'before')).toEqual([])
    expect(await ids('clients', 'after')).toEqual(['moving'])
    const etag = (await operator('/clients/moving')).headers.get('etag')!
    await operator('/clients/moving', { method: 'DELETE', headers: { 'If-Match': etag } })
    expect(await ids('clients', 'after')).toEqual([])
    await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
    const entries = await records.records<SearchEntry>(searchIndexName).list('client.after', 5)
    expect(entries.filter(({ record }) => record.of === 'moving')).toEqual([])
  })

  it('lists each once, page by page', async () => {
    for (let index = 0; index < 12; index++)
      await addClient(`page-${String(index)}`, `Pagination Pages ${String(index)}`)
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await operator(`/clients?search=pag&limit=5${cursor}`)
      seen.push(...body.items.map(({ client_id }: { client_id: string }) => client_id))
      if (cursor === '') await addClient('page-late', 'Aaa')
      cursor = body.next_cursor === undefined ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual(expect.arrayContaining(Array.from({ length: 12 }, (_, index) => `page-${String(index)}`)))
  })

  it('finds one by its id beside many with the same words', async () => {
    await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
    const entries = records.records<SearchEntry>(searchIndexName)
    for (let index = 0; index < 700; index++)
      await entries.put(`client.frequent.${String(index).padStart(22, '0')}`, { of: 'gone' })
    await addClient('frequent-77', 'Rare')
    expect(await ids('clients', 'frequent-77')).toEqual(['frequent-77'])
    expect(await ids('clients', 'frequent 7')).toEqual(['frequent-77'])
  })

  it('ignores entries that are not right, and lacking ones are made', async () => {
    await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
    const entries = records.records<SearchEntry>(searchIndexName)
    await entries.put('client.stale.xxxxxxxxxxxxxxxxxxxxxx', { of: 'till' })
    await entries.put('client.stale.yyyyyyyyyyyyyyyyyyyyyy', { of: 'gone' })
    expect(await ids('clients', 'stale')).toEqual([])
    await addClient('lacking', 'Lacking')
    for (const { id, record } of await entries.list('client.lack', 10))
      if (record.of === 'lacking') await entries.remove(id)
    expect(await ids('clients', 'lackin')).toEqual([])
    expect(await indexForSearch(records)).toBeGreaterThan(5)
    expect(await ids('clients', 'lackin')).toEqual(['lacking'])
  })
})

describe('a search for people', () => {
  it('finds them by username, names, address and subject', async () => {
    const claims = { name: 'Ada Lovelace', email: 'ada.king@corp.invalid', phone_number: '+41 44 111 22 33' }
    const sub = await addPerson('countess', claims)
    await addPerson('ada2', { name: 'Adam Smith', email: 'smith@corp.invalid' })
    for (const search of ['count', 'lovelace', 'ADA love', 'ada.king@corp.inv', 'king', sub, sub.slice(0, 8)])
      expect(await ids('people', search), search).toEqual(['countess'])
    expect(await ids('people', 'ada')).toEqual(expect.arrayContaining(['ada2', 'countess']))
    // All people of a company have its domain.
    expect(await ids('people', 'corp.invalid')).toEqual([])
    expect(await ids('people', '@corp.invalid')).toEqual([])
    await change(`/people/${sub}`, { claims: { name: 'Ada King' } })
    expect(await ids('people', 'lovelace')).toEqual([])
    expect((await operator('/people?search=ada&source=external')).body.items).toEqual([])
  })

  it('AD63 takes words alone: no pattern, no position, no end without bound', async () => {
    const hostile = [
      '.*',
      '%',
      '$regex',
      'client.web',
      'person.',
      '~',
      '\u0301',
      '\u202e',
      '🎉',
      '"',
      '{}',
      '../..',
      'a'.repeat(256),
    ]
    for (const search of hostile) {
      expect(await ids('clients', search), search).toEqual([])
      expect(await ids('people', search), search).toEqual([])
    }
    const { body } = await operator('/clients?search=page&limit=1')
    for (const query of [
      ...[`search=${'x'.repeat(257)}`, `search=pages&cursor=${body.next_cursor}`, `cursor=${body.next_cursor}`],
      ...['search=a&search=b', 'search=web&limit=0', 'search=web&q=x'],
    ])
      expect((await operator(`/clients?${query}`)).status, query).toBe(400)
    expect((await operator(`/people?search=page&cursor=${body.next_cursor}`)).status).toBe(400)
    const support = await server.as('support')
    expect((await support('/people?search=ada')).status).toBe(200)
    expect((await support('/clients?search=web')).status).toBe(403)
    expect(wordsOf('\u202eKas\u200bse\u202c \u0007Bell')).toEqual(['kasse', 'bell'])
    expect(wordsOf('x '.repeat(100_000)).length + wordsOf('ﷺ'.repeat(1024)).length).toBeLessThan(40)
  })
})
