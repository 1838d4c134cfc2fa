import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { noLog } from '../../../core/observe/log.js'
import { raw } from '../../support/server/http-server.js'
import { startServer, type TestServer } from '../../support/server/server.js'
import { failingStore, inBothRoles, type Faults } from '../../support/stores/failing-store.js'
import { fetchLog, withKeyLog } from './log-server.js'

const faults: Faults = new Map()
let server: TestServer
beforeAll(async () => {
  server = await startServer({
    configure: withKeyLog,
    log: noLog,
    doubles: { stores: inBothRoles(failingStore(faults)) },
  })
})
afterEach(() => faults.clear())
afterAll(() => server[Symbol.asyncDispose]())

const ask = (path: string, more: RequestInit = {}) => fetch(`${server.origin}/keys/log/${path}`, more)

describe('/keys/log', () => {
  it('answers as C2SP tlog-tiles says, to GET, HEAD and conditional requests, for pages of any origin', async () => {
    const checkpoint = await ask('checkpoint', { headers: { origin: 'https://watcher.example' } })
    expect(checkpoint.status).toBe(200)
    expect(checkpoint.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(checkpoint.headers.get('cache-control')).toBe('public, max-age=2, must-revalidate')
    expect(checkpoint.headers.get('access-control-allow-origin')).toBe('*')
    const etag = checkpoint.headers.get('etag') ?? ''
    expect((await ask('checkpoint', { headers: { 'if-none-match': etag } })).status).toBe(304)
    expect((await ask('checkpoint', { headers: { 'if-none-match': '"x"' } })).status).toBe(200)
    const head = await ask('checkpoint', { method: 'HEAD' })
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, ''])
    for (const path of ['tile/0/000.p/4', 'tile/entries/000.p/4', 'tile/0/000.p/1', 'tile/entries/000.p/3']) {
      const tile = await ask(path)
      expect(tile.status).toBe(200)
      expect(tile.headers.get('content-type')).toBe('application/octet-stream')
      expect(tile.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    }
    expect((await (await ask('tile/0/000.p/3')).arrayBuffer()).byteLength).toBe(96)
    expect((await ask('tile/0/000.p/4', { method: 'HEAD' })).headers.get('content-length')).toBe('128')
  })

  it('KR24: has nothing at other paths, however they are written', async () => {
    const numbers = [
      ...[
        '000',
        '000.p/5',
        '001',
        '001.p/1',
        '000.p/0',
        '000.p/00',
        '000.p/01',
        '000.p/256',
        '000.p/-1',
        '000.p/1e0',
        '000.p',
      ],
      ...[
        '0',
        '00',
        '0000',
        'x000/000',
        'x000/000.p/1',
        'x001/000',
        'x001/x000/000',
        'x999/x999/x999/999',
        '-01',
        '+00',
        '٠٠٠',
      ],
      ...[
        '000.P/1',
        'X001/000',
        '000.p/1.p/1',
        '%30%30%30',
        '000%2Ep/1',
        '000.p%2F1',
        '..',
        '000.p/..',
        '1'.repeat(10_000),
      ],
    ]
    for (const level of ['0', 'entries', '1', '63'])
      for (const number of numbers) {
        const reply = await ask(`tile/${level}/${number}`)
        expect([`${level}/${number}`, reply.status]).toEqual([`${level}/${number}`, 404])
        expect(await reply.json()).toMatchObject({ error: 'invalid_request' })
        expect(reply.headers.get('cache-control')).toBe('no-store')
      }
    for (const level of ['64', '00', '-1', 'Entries', 'data', '8/0', '__proto__', 'constructor', '9'.repeat(400)])
      expect((await ask(`tile/${level}/000.p/1`)).status).toBe(404)
    for (const path of [
      '',
      'tile',
      'tile/',
      'tile/0',
      'tile/0/',
      'tile/0/000.p/4/',
      'tile//0/000.p/4',
      'checkpoint/',
      'CHECKPOINT',
    ])
      expect((await ask(path)).status).toBe(404)
    const port = Number(new URL(server.origin).port)
    for (const path of ['tile/0/000.p/4\\', 'tile/0/\u0000', 'tile/0/000.p/4#x', './checkpoint', 'tile/../checkpoint'])
      expect(await raw(port, `GET /keys/log/${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).toMatch(
        /^HTTP\/1\.1 40[04] /,
      )
    expect((await ask('checkpoint', { method: 'POST' })).status).toBe(405)
    expect((await ask('tile/0/000.p/4', { method: 'DELETE' })).status).toBe(405)
    expect((await fetchLog(server.origin)).checkpoint.size).toBe(4)
  })

  it('KR24: answers an outage of the store as one', async () => {
    faults.set('key_log.find', 'before')
    // The last second is in memory.
    await expect.poll(async () => (await ask('checkpoint')).status).toBe(503)
    for (const path of ['checkpoint', 'tile/0/000.p/4', 'tile/0/000', 'tile/entries/x999/999']) {
      const reply = await ask(path)
      expect([path, reply.status]).toEqual([path, 503])
      expect(await reply.json()).toMatchObject({ error: 'temporarily_unavailable' })
      expect(reply.headers.get('retry-after')).toMatch(/^[1-5]$/)
    }
    faults.clear()
    expect((await ask('checkpoint')).status).toBe(200)
  })

  it('is not there where it is off', async () => {
    await using off = await startServer()
    for (const path of ['checkpoint', 'tile/0/000'])
      expect((await fetch(`${off.origin}/keys/log/${path}`)).status).toBe(404)
  })
})
