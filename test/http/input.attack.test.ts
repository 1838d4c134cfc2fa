import { gzipSync } from 'node:zlib'
import { connect } from 'node:net'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectGood, raw, startFixture, type Fixture } from '../support/server/http-server.js'

let server: Fixture
beforeAll(async () => {
  server = await startFixture()
})
afterAll(() => server.close(1000))
afterEach(() => expectGood(server.origin))

const formType = 'application/x-www-form-urlencoded'
const post = (path: string, type: string | undefined, body: BodyInit, headers: Record<string, string> = {}) =>
  fetch(`${server.origin}${path}`, {
    method: 'POST',
    body,
    headers: { ...(type === undefined ? {} : { 'content-type': type }), ...headers },
  })

const expectJsonError = async (reply: Response, status: number, error = 'invalid_request'): Promise<void> => {
  expect(reply.status).toBe(status)
  expect(reply.headers.get('cache-control')).toBe('no-store')
  expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const body = (await reply.json()) as Record<string, string>
  expect(Object.keys(body)).toEqual(['error', 'error_description'])
  expect(body['error']).toBe(error)
}

describe('HT01 and HT12: only a form in UTF-8 is read', () => {
  it.each([
    ['application/json', '{"grant_type":"client_credentials"}'],
    ['application/json; charset=utf-8', '{"grant_type":["x"]}'],
    ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'],
    ['text/plain', 'grant_type=x'],
    ['application/octet-stream', 'grant_type=x'],
    ['application/x-www-form-urlencodedx', 'grant_type=x'],
    ['application/x-www-form-urlencoded, application/json', 'grant_type=x'],
    ['*/*', 'grant_type=x'],
    [`${formType}; charset=utf-16`, 'grant_type=x'],
    [`${formType}; charset=utf-7`, 'grant_type=x'],
    [`${formType}; CHARSET="iso-8859-1"`, 'grant_type=x'],
    [`${formType}; charset=utf-8; charset=utf-16`, 'grant_type=x'],
    [`${formType}; charset`, 'grant_type=x'],
    [`\u00a0${formType}`, 'grant_type=x'],
    [`${formType}\u00a0`, 'grant_type=x'],
    [`${formType};charset=\u00a0utf-8`, 'grant_type=x'],
  ])('%s is refused', async (type, body) => {
    await expectJsonError(await post('/token', type, body), 415)
    await expectJsonError(await post('/userinfo', type, body), 415)
    for (const path of ['/authorize', '/interaction/a/login']) {
      const page = await post(path, type, body)
      expect(page.status).toBe(415)
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    }
  })

  it('a body without a type is refused', async () => {
    await expectJsonError(await post('/token', undefined, new TextEncoder().encode('grant_type=x')), 415)
  })

  it.each([formType, `${formType};charset=UTF-8`, `Application/X-WWW-Form-Urlencoded ; charset="utf-8"`])(
    '%s is read',
    async (type) => {
      const reply = await post('/token', type, 'grant_type=x')
      expect(await reply.json()).toMatchObject({ form: { grant_type: 'x' } })
    },
  )
})

describe('HT02 and HT03: brackets and magic names are ignored', () => {
  it.each(['/token', '/authorize'])('at %s', async (path) => {
    const body = 'code[$ne]=&client_id[$gt]=1&__proto__[x]=1&__proto__=2&constructor[prototype][x]=1&a.b=1&a[]=1&a[0]=2'
    const reply = await post(path, formType, body)
    const { form } = JSON.parse(await reply.text(), (key, value: unknown) =>
      key === '__proto__' ? undefined : value,
    ) as { form: Record<string, string> }
    expect(form['client_id[$gt]']).toBe('1')
    expect(form['constructor[prototype][x]']).toBe('1')
    expect(form['a.b']).toBe('1')
    expect(form['code']).toBeUndefined()
    expect(form['client_id']).toBeUndefined()
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })
})

describe('HT04: many parameters', () => {
  it.each([
    ['10,000 short ones', 'a=1&'.repeat(10_000)],
    ['10,000 empty names', '=&'.repeat(10_000)],
    ['101 different ones', Array.from({ length: 101 }, (_, index) => `p${index}=1`).join('&')],
    ['one nested 10,000 deep, 101 times', `a${'[x]'.repeat(200)}=1&`.repeat(101)],
  ])('%s', async (_, body) => {
    await expectJsonError(await post('/token', formType, body), 400)
    expect((await post('/authorize', formType, body)).status).toBe(400)
    const query = await fetch(`${server.origin}/authorize?${body.slice(0, 10_000)}`)
    expect([200, 400, 431]).toContain(query.status)
  })

  it('only separators count as no parameters', async () => {
    const reply = await post('/token', formType, '&'.repeat(60_000))
    expect(await reply.json()).toMatchObject({ form: {} })
  })
})

describe('HT05: large and lying bodies', () => {
  it.each(['/token', '/userinfo', '/authorize', '/interaction/a/login'])('64 KiB and a byte at %s', async (path) => {
    const limit = `a=${'x'.repeat(64 * 1024 - 2)}`
    expect((await post(path, formType, limit)).status).toBe(200)
    const reply = await post(path, formType, `${limit}x`)
    expect(reply.status).toBe(413)
    expect(reply.headers.get('connection')).toBe('close')
  })

  it.each(['/token', '/authorize'])('64 KiB and a byte in chunks at %s', async (path) => {
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\nTransfer-Encoding: chunked\r\n\r\n`
    const text = await raw(server.port, head, chunk.repeat(17), '0\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
  })

  it.each(['/token', '/authorize', '/interaction/a/login'])('a stream of 1 GB at %s is not read', async (path) => {
    const chunk = Buffer.from(`10000\r\n${'x'.repeat(65536)}\r\n`)
    const before = process.memoryUsage().rss
    const sent = await new Promise<{ bytes: number; text: string }>((resolve) => {
      const socket = connect(server.port, '127.0.0.1')
      let text = ''
      let left = 16_384
      const pump = (): void => {
        while (left-- > 0 && socket.writable) if (!socket.write(chunk)) return
      }
      socket.on('drain', pump)
      socket.on('data', (data) => (text += data.toString('latin1')))
      socket.on('error', () => undefined)
      socket.on('close', () => resolve({ bytes: socket.bytesWritten - socket.writableLength, text }))
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      )
      pump()
    })
    expect(sent.text).toMatch(/^HTTP\/1\.1 413 /)
    expect(sent.bytes).toBeLessThan(64 * 1024 * 1024)
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024)
  })

  it('a declared gigabyte is refused before a byte of it came', async () => {
    const head = `POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\nContent-Length: 1073741824\r\n\r\n`
    expect(await raw(server.port, head)).toMatch(/^HTTP\/1\.1 413 [^]*"error":"invalid_request"/)
  })

  it('bytes beyond the declared length of a body are not a request', async () => {
    const text = await raw(
      server.port,
      `POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\nContent-Length: 3\r\n\r\na=1&b=2 and so on\r\n\r\n`,
    )
    expect(text).toMatch(/HTTP\/1\.1 400 [^]*Connection: close/)
    expect(text).not.toContain('"b"')
  })

  it('a body that is cut short reaches no endpoint', async () => {
    const before = server.log.lines.length
    await new Promise<void>((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        socket.write(
          `POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\nContent-Length: 30\r\n\r\na=1`,
          () => socket.destroy(),
        )
      })
      socket.on('close', () => resolve())
    })
    await expectGood(server.origin)
    expect(server.log.lines.slice(before).filter((line) => line.level === 'error')).toEqual([])
  })

  it('a body is not read where none is expected', async () => {
    const text = await raw(
      server.port,
      'GET /.well-known/openid-configuration HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n',
    )
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*Connection: close/)
  })
})

describe('HT06: nothing is inflated', () => {
  const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024, 'a=1&'))
  it.each(['gzip', 'deflate', 'br', 'zstd', 'GZIP', 'identity, gzip', 'x'])('Content-Encoding: %s', async (coding) => {
    await expectJsonError(await post('/token', formType, bomb, { 'content-encoding': coding }), 415)
    expect((await post('/authorize', formType, bomb, { 'content-encoding': coding })).status).toBe(415)
  })

  it('Transfer-Encoding: gzip, chunked', async () => {
    const head = `POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n`
    expect(await raw(server.port, head)).toMatch(/^HTTP\/1\.1 415 /)
  })

  it('identity is not a content coding', async () => {
    expect((await post('/token', formType, 'a=1', { 'content-encoding': 'Identity' })).status).toBe(200)
  })
})

describe('HT11: bytes that are not text', () => {
  it.each([
    ['raw 0xFF', Buffer.from([0x61, 0x3d, 0xff])],
    ['raw overlong slash', Buffer.from([0x61, 0x3d, 0xc0, 0xaf])],
    ['a raw surrogate', Buffer.from([0x61, 0x3d, 0xed, 0xa0, 0x80])],
    ['a truncated sequence', Buffer.from([0x61, 0x3d, 0xe2, 0x82])],
    ['%FF', 'a=%FF'],
    ['an overlong slash, %C0%AF', 'a=%C0%AF'],
    ['an encoded surrogate', 'a=%ED%A0%80'],
    ['half a percent sign', 'a=%4'],
    ['no hex', 'a=%zz'],
    ['NUL, encoded', 'a=b%00c'],
    ['NUL, raw', 'a=b\0c'],
    ['NUL in a name', 'a%00=1'],
    ['%u0041', 'a=%u0041'],
  ])('%s', async (_, body) => {
    await expectJsonError(await post('/token', formType, body), 400)
    expect((await post('/authorize', formType, body)).status).toBe(400)
  })

  it.each(['%FF', '%C0%AF', '%ED%A0%80', '%4', '%00'])('%s in the query', async (value) => {
    const text = await raw(server.port, `GET /authorize?a=${value} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
  })

  it('raw bytes over 0x7F in the query', async () => {
    for (const bytes of ['\xff\xfe', '\xc3\xa9']) {
      const line = `GET /authorize?a=${bytes} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
      expect(await raw(server.port, Buffer.from(line, 'latin1'))).toMatch(/^HTTP\/1\.1 400 /)
    }
  })
})

describe('any form, query and headers', () => {
  it('never cause a 5xx', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 })
    const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,20}$/)
    const value = fc.stringMatching(/^[\x21-\x7e]{0,60}$/)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('/token', '/userinfo', '/authorize', '/interaction/a/login', '/nowhere'),
        fc.constantFrom('GET', 'POST'),
        fc
          .string({ maxLength: 60 })
          .map((query) => encodeURI(query.replace(/[\ud800-\udfff]/g, '')).replaceAll('#', '')),
        fc.oneof(
          text,
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
        ),
        fc.array(fc.tuple(name, value), { maxLength: 5 }),
        async (path, method, query, body, headers) => {
          const extra = headers
            .filter(([key]) => !/^(connection|content-length|transfer-encoding|expect|upgrade|host)$/i.test(key))
            .map((pair) => `${pair.join(': ')}\r\n`)
          const bytes = Buffer.from(body, 'latin1')
          const head =
            `${method} ${path}?${query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${extra.join('')}` +
            `Content-Type: ${formType}\r\nContent-Length: ${bytes.length}\r\n\r\n`
          expect(await raw(server.port, head, bytes)).toMatch(/^HTTP\/1\.1 [24]\d\d /)
        },
      ),
      { numRuns: 300 },
    )
  })
})
