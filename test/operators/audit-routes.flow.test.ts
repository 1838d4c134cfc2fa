import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findAuditLines, verifyAuditRange } from '../../core/administration/audit.js'
import { Problem, unlessRefused } from '../../core/admin-api/problem.js'
import { openCommandLine } from '../support/server/command-line.js'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'

type Line = Readonly<Record<string, unknown>>

let server: OperatorServer
let [operator, auditor]: AskApi[] = []
beforeAll(async () => {
  server = await startOperatorServer()
  operator = await server.as('operator')
  auditor = await server.as('auditor')
  for (const client_id of ['shop', 'till']) {
    const body = { client_id, client_name: client_id, grant_types: ['client_credentials'], redirect_uris: [] }
    await operator('/clients', { method: 'POST', body })
  }
  for (const client_name of ['Shop 1', 'Shop 2', 'Shop 3']) {
    const etag = (await operator('/clients/shop')).headers.get('etag')!
    await operator('/clients/shop', { method: 'PATCH', body: { client_name }, headers: { 'If-Match': etag } })
  }
})
afterAll(() => server[Symbol.asyncDispose]())

const find = async (query: Readonly<Record<string, string>>) => {
  const { status, body } = await auditor!(`/audit?${String(new URLSearchParams(query))}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body as { readonly items: readonly Line[]; readonly next_cursor?: string; readonly not_searched: string[] }
}

describe('the audit log in the admin API', () => {
  it('is searched by what its lines say, the newest first', async () => {
    const { items } = await find({ object: 'client:shop' })
    expect(items.map(({ action, after }) => [action, (after as Line | undefined)?.['client_name']])).toEqual([
      ['client.update', 'Shop 3'],
      ['client.update', 'Shop 2'],
      ['client.update', 'Shop 1'],
      ['client.add', undefined],
    ])
    expect(items[0]).toMatchObject({
      by: { via: 'api', operator: 'operator', proof: 'token' },
      before: { client_name: 'Shop 2' },
    })
    const logged = await server.audit()
    expect(items[0]).toEqual(logged.findLast(({ event }) => event === 'administration'))
    const { request_id } = items[0] as { request_id: string }
    const ofRequest = await find({ request_id })
    expect(ofRequest.items.map(({ event }) => event)).toEqual(['administration', 'administration.begun'])
    expect((await find({ operator: 'operator', event: 'administration', client_id: 'till' })).items).toHaveLength(1)
    expect((await find({ operator: 'local', event: 'administration' })).items).toHaveLength(2)
    expect((await find({ event: 'key.*,configuration.loaded' })).items.length).toBeGreaterThan(0)
    expect((await find({ operator: 'nobody' })).items).toEqual([])
    const { time } = items[2] as { time: string }
    const since = await find({ object: 'client:shop', since: time })
    expect(since.items).toEqual(items.slice(0, 3))
    expect((await find({ object: 'client:shop', until: time })).items).toEqual(items.slice(3))
  })

  it('is read page by page while it grows and its file is moved', async () => {
    const all = (await find({ limit: '200' })).items
    const seen: Line[] = []
    let cursor: string | undefined
    for (let page = 0; ; page++) {
      const found = await find({ limit: '3', ...(cursor !== undefined && { cursor }) })
      seen.push(...found.items)
      cursor = found.next_cursor
      if (cursor === undefined) break
      if (page === 0) await auditor!('/clients', { method: 'POST', body: {} })
      if (page === 1) {
        const file = join(server.directory, 'audit.jsonl')
        await rename(file, `${file}.1`)
        await (await fetch(`${server.admin}/reload`, { method: 'POST' })).text()
      }
    }
    expect(seen).toEqual(all)
  })

  it('is verified in a range', async () => {
    const whole = await auditor!('/audit/verification')
    expect(whole).toMatchObject({ status: 200, body: { complete: true, faults: [], torn: 0 } })
    expect(whole.body.lines).toBeGreaterThan(10)
    const file = join(server.directory, 'audit.jsonl.1')
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace('"Shop 1"', '"Shop 0"'))
    const found = (await auditor!('/audit/verification')).body
    expect(found.faults).toContainEqual(expect.objectContaining({ kind: 'changed' }))
    const { time } = (await find({ object: 'client:shop' })).items[0] as { time: string }
    expect((await auditor!(`/audit/verification?since=${time}`)).body.faults).toEqual([])
    await writeFile(file, text)
  })

  it('AD60 is not shown without audit.read', async () => {
    for (const path of ['/audit', '/audit/verification']) {
      for (const role of ['viewer', 'support', 'key_custodian'])
        expect(await (await server.as(role))(path)).toMatchObject({ status: 403, body: { code: 'access_denied' } })
      expect((await server.ask(path)).status).toBe(401)
    }
  })

  it('AD61 is not read at positions that no search has given out', async () => {
    const { next_cursor } = await find({ limit: '1' })
    const position = { file: '../../etc/passwd', began: 0, offset: -1 }
    const forged = `${Buffer.from(JSON.stringify(position)).toString('base64url')}.${'A'.repeat(43)}`
    for (const wrong of [forged, 'x', next_cursor!.slice(0, -1)])
      expect(await auditor!(`/audit?cursor=${wrong}`)).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    // A cursor belongs to its filters.
    expect((await auditor!(`/audit?sub=ada&cursor=${next_cursor!}`)).status).toBe(400)
  })

  it('AD62 takes every text as it is: none is a pattern, a path or a filter of its own', async () => {
    const texts = ['.*', '%', '$ne', '*', '../audit.jsonl', '"', '\\', '__proto__', "'; --", 'é', '𝕏'.repeat(100)]
    for (const text of texts)
      for (const name of ['client_id', 'sub', 'jti', 'kid', 'operator', 'request_id'])
        expect((await find({ [name]: text })).items, `${name} ${text}`).toEqual([])
    for (const query of [
      ...['event=*', 'event=.*', 'event=login.*.x', 'since=yesterday', 'until=1', 'limit=0', 'limit=1e9'],
      ...['object=shop', 'object=__proto__:x', 'writer=x', 'sub=a&sub=b', `sub=${'x'.repeat(600)}`],
    ])
      expect((await auditor!(`/audit?${query}`)).status, query).toBe(400)
    for (const query of ['since=x', 'object=client:shop', 'cursor=x'])
      expect((await auditor!(`/audit/verification?${query}`)).status, query).toBe(400)
  })

  it('is not there when it is printed to standard output, and the answer says so', async () => {
    for (const refused of [await findAuditLines({}, { filter: {}, limit: 1 }), await verifyAuditRange({}, {})]) {
      expect(() => unlessRefused(refused)).toThrow(Problem)
      expect(refused).toEqual({ refused: 'no_audit_file' })
    }
  })
})

describe('signet audit', () => {
  it('finds lines, changes, who made them, and algorithms', async () => {
    await using commands = await openCommandLine()
    const config = join(server.directory, 'signet.yaml')
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await commands.run(['audit', ...args, '--config', config])
      expect(code, stderr).toBe(0)
      return stdout
    }
    const who = await run('who', '--object', 'client:shop')
    expect(who).toContain('client_name: "Shop 2" → "Shop 3"')
    expect(who).toMatch(/by: operator\n {2}proof: token\n {2}credential: [\w-]+\n {2}request: \S+/)
    const json = JSON.parse(await run('find', '--client', 'shop', '--event', 'administration', '--json')) as Line[]
    expect(json).toEqual((await find({ client_id: 'shop', event: 'administration' })).items)
    expect(await run('changes', '--since', '1h', '--operator', 'operator')).toContain('client.update')
    expect(await run('find', '--jti', 'none')).toContain('No lines.')
    const named = await commands.run([
      'audit',
      'find',
      '--object',
      'client:till',
      '--json',
      join(server.directory, 'audit.jsonl.1'),
    ])
    expect(JSON.parse(named.stdout)).toMatchObject([{ action: 'client.add' }])
    const line = {
      event: 'token.signed',
      client_id: 'shop',
      time: '2026-11-20T00:00:00Z',
      signatures: [{ alg: 'RS256', typ: 'JWT' }],
    }
    await commands.write('tokens.jsonl', `${JSON.stringify(line)}\n${JSON.stringify(line)}\n`)
    const uses = await commands.run(['audit', 'algorithms', '--json', 'tokens.jsonl'])
    expect(JSON.parse(uses.stdout)).toEqual([
      { client_id: 'shop', alg: 'RS256', typ: 'JWT', count: 2, last: '2026-11-20T00:00:00Z' },
    ])
    expect((await commands.run(['audit', 'who', '--object', 'shop', '--config', config])).code).toBe(2)
  })
})
