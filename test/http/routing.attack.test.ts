import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectGood, raw, startFixture, type Fixture } from '../support/server/http-server.js'

let server: Fixture
beforeAll(async () => {
  server = await startFixture({ issuer: 'https://id.example' })
})
afterAll(() => server.close(1000))
afterEach(() => expectGood(server.origin))

const send = (head: string, ...rest: string[]): Promise<string> =>
  raw(server.port, `${head}\r\nConnection: close\r\n${rest.join('')}\r\n`)
const get = (target: string): Promise<string> => send(`GET ${target} HTTP/1.1\r\nHost: id.example`)

describe('AZ31: a path is matched exactly', () => {
  it.each([
    '/authorize/',
    '//authorize',
    '/AUTHORIZE',
    '/authorize;x=1',
    '/authorize;',
    '/%61uthorize',
    '/authorize%2f',
    '/authorize%20',
    '/authorize%00',
    '/authorize%3Fx',
    '/./authorize',
    '/x/../authorize',
    '\\authorize',
    '/authorize.json',
    '/token/',
    '//token',
    '/Token',
    '/%74oken',
    '/token;x=1',
    '/jwks.json/',
    '/.well-known/openid-configuration/',
    '/.well-known//openid-configuration',
    '/.well-known/openid-configuration/id.example',
    '/interaction/a/login/',
    '/interaction//login',
    '/interaction/a/LOGIN',
    '/interaction/%61/login',
    '/interaction/a%2fb/login',
    '/interaction/a/b/login',
    '/interaction/a;x=1/login',
    '/interaction/../login',
    `/interaction/${'a'.repeat(129)}/login`,
    '/interaction/{id}/login',
    '/interaction/:id/login',
    '/assets/../package.json',
    '/assets/..',
    '/assets/.env',
    '/assets/%2e%2e/package.json',
    '/assets/a/b',
    '/health/live',
    '/health/ready',
    '/metrics',
    '/admin',
    '/__proto__',
    '/constructor',
    '/toString',
  ])('%s is not found', async (target) => {
    expect(await get(target)).toMatch(/^HTTP\/1\.1 (404|400) /)
    expect(await get(`${target}?client_id=x`)).toMatch(/^HTTP\/1\.1 (404|400) /)
  })

  it('an unknown address is a page for people and JSON for machines', async () => {
    const person = await fetch(`${server.origin}/nowhere`, { headers: { accept: 'text/html,*/*' } })
    expect([person.status, person.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    const machine = await fetch(`${server.origin}/nowhere`)
    expect([machine.status, machine.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8'])
  })
})

describe('AZ33: other methods', () => {
  const methods = ['PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'QUERY', 'LOCK']
  it.each(methods)('%s', async (method) => {
    for (const [path, allow] of [
      ['/authorize', 'GET, HEAD, POST'],
      ['/interaction/a/login', 'GET, HEAD, POST'],
      ['/token', 'POST, OPTIONS'],
      ['/userinfo', 'GET, HEAD, POST, OPTIONS'],
      ['/jwks.json', 'GET, HEAD, OPTIONS'],
      ['/', 'GET, HEAD'],
    ] as const) {
      const text = await send(`${method} ${path} HTTP/1.1\r\nHost: x`)
      // A method that this Node's parser does not know is a malformed request.
      if (!text.startsWith('HTTP/1.1 400 ')) {
        expect(text).toMatch(/^HTTP\/1\.1 405 /)
        expect(text).toContain(`\r\nAllow: ${allow}\r\n`)
      }
      expect(text).toContain('"error":"invalid_request"')
    }
  })

  it('OPTIONS without CORS, GET at /token, CONNECT', async () => {
    expect(await send('OPTIONS /authorize HTTP/1.1\r\nHost: x')).toMatch(/^HTTP\/1\.1 405 /)
    expect(await send('OPTIONS /interaction/a/consent HTTP/1.1\r\nHost: x')).toMatch(/^HTTP\/1\.1 405 /)
    expect(await send('OPTIONS * HTTP/1.1\r\nHost: x')).toMatch(/^HTTP\/1\.1 404 /)
    expect(await get('/token?grant_type=client_credentials')).toMatch(/^HTTP\/1\.1 405 /)
    expect(await send('HEAD /token HTTP/1.1\r\nHost: x')).toMatch(/^HTTP\/1\.1 405 /)
    expect(await send('CONNECT evil.example:443 HTTP/1.1\r\nHost: x')).not.toContain(' 200 ')
  })

  it('a method override is ignored', async () => {
    const text = await send(
      'POST /token HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: DELETE\r\nContent-Type: application/x-www-form-urlencoded',
      'Content-Length: 0\r\n',
    )
    expect(text).toContain('"method":"POST"')
  })
})

describe('AZ19 and header floods', () => {
  it.each([
    ['a query of 64 KiB', `GET /authorize?a=${'x'.repeat(65_536)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a path of 64 KiB', `GET /${'x'.repeat(65_536)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a header of 20 KB', `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a header name of 20 KB', `GET / HTTP/1.1\r\nHost: x\r\n${'x'.repeat(20_000)}: 1\r\n\r\n`],
    ['5,000 headers', `GET / HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(5_000)}\r\n`],
    ['101 headers', `GET / HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(100)}\r\n`],
    ['cookies of 20 KB', `GET / HTTP/1.1\r\nHost: x\r\n${`Cookie: a=${'x'.repeat(1000)}\r\n`.repeat(20)}\r\n`],
  ])('%s', async (_, request) => {
    expect(await raw(server.port, request)).toMatch(/^HTTP\/1\.1 431 [^]*"error":"invalid_request"/)
  })
})

describe('HT08: the Host header is ignored', () => {
  it.each([
    ['/.well-known/openid-configuration', 'Host: evil.example'],
    ['/.well-known/openid-configuration', 'Host: evil.com:x@id.example'],
    [
      '/.well-known/openid-configuration',
      'Host: id.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: http',
    ],
    ['/.well-known/openid-configuration', 'Host: id.example\r\nForwarded: host=evil.example;proto=http'],
    ['/.well-known/oauth-authorization-server', 'Host: [::1'],
    ['http://evil.example/.well-known/openid-configuration', 'Host: id.example'],
    ['https://evil.example:99/.well-known/openid-configuration', 'Host: evil.example'],
    ['http://a:b@evil.example/.well-known/openid-configuration', 'Host: id.example'],
  ])('GET %s, %s', async (target, host) => {
    const text = await send(`GET ${target} HTTP/1.1\r\n${host}`)
    if (!text.startsWith('HTTP/1.1 400 ')) {
      expect(text).toMatch(/^HTTP\/1\.1 200 /)
      expect(text).toContain('"issuer":"https://id.example"')
    }
    expect(text).not.toContain('evil')
  })

  it('other request targets are refused', async () => {
    for (const target of ['ftp://evil.example/token', 'http:/token', 'evil.example/token', 'javascript:1']) {
      expect(await get(target)).toMatch(/^HTTP\/1\.1 40[04] /)
    }
  })

  it('two Host headers are refused, as are none', async () => {
    expect(await send('GET / HTTP/1.1\r\nHost: id.example\r\nhOST: evil.example')).toMatch(/^HTTP\/1\.1 400 /)
    expect(await send('GET / HTTP/1.1\r\nX: y')).toMatch(/^HTTP\/1\.1 400 /)
  })
})

describe('HT09: X-Forwarded-For', () => {
  it('is ignored from an untrusted peer', async () => {
    for (const value of ['203.0.113.9', `${'1.2.3.4, '.repeat(1000)}203.0.113.9`, ','.repeat(10_000)]) {
      const text = await send(`GET /userinfo HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${value}`)
      expect(text).toContain('"address":"127.0.0.1"')
    }
    expect(await send(`GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${' ,'.repeat(25_000)}`)).toContain(' 431 ')
  })
})

describe('HT10: requests that two parsers would read in two ways', () => {
  const form = 'Host: x\r\nContent-Type: application/x-www-form-urlencoded\r\n'
  it.each([
    [
      'CL and TE',
      `POST /token HTTP/1.1\r\n${form}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na=1\r\n0\r\n\r\n`,
    ],
    [
      'TE and CL',
      `POST /token HTTP/1.1\r\n${form}Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n3\r\na=1\r\n0\r\n\r\n`,
    ],
    ['two lengths', `POST /token HTTP/1.1\r\n${form}Content-Length: 3\r\nContent-Length: 4\r\n\r\na=1`],
    ['a list of lengths', `POST /token HTTP/1.1\r\n${form}Content-Length: 3, 3\r\n\r\na=1`],
    ['a negative length', `POST /token HTTP/1.1\r\n${form}Content-Length: -3\r\n\r\na=1`],
    ['a signed length', `POST /token HTTP/1.1\r\n${form}Content-Length: +3\r\n\r\na=1`],
    ['a length in hex', `POST /token HTTP/1.1\r\n${form}Content-Length: 0x3\r\n\r\na=1`],
    ['a length over 2^64', `POST /token HTTP/1.1\r\n${form}Content-Length: 18446744073709551619\r\n\r\na=1`],
    [
      'chunked not last',
      `POST /token HTTP/1.1\r\n${form}Transfer-Encoding: chunked, identity\r\n\r\n3\r\na=1\r\n0\r\n\r\n`,
    ],
    ['xchunked', `POST /token HTTP/1.1\r\n${form}Transfer-Encoding: xchunked\r\n\r\n3\r\na=1\r\n0\r\n\r\n`],
    [
      'a chunk size that is none',
      `POST /token HTTP/1.1\r\n${form}Transfer-Encoding: chunked\r\n\r\nzz\r\na=1\r\n0\r\n\r\n`,
    ],
    [
      'a chunk that is longer than it says',
      `POST /token HTTP/1.1\r\n${form}Transfer-Encoding: chunked\r\n\r\n1\r\na=1\r\n0\r\n\r\n`,
    ],
    ['chunks ended by LF', `POST /token HTTP/1.1\r\n${form}Transfer-Encoding: chunked\r\n\r\n3\na=1\n0\n\n`],
    ['bare LF', 'POST /token HTTP/1.1\nHost: x\nContent-Length: 0\n\n'],
    ['bare LF in the middle', 'POST /token HTTP/1.1\r\nHost: x\nContent-Length: 0\r\n\r\n'],
    ['bare CR', 'POST /token HTTP/1.1\rHost: x\r\r'],
    ['a folded header', `POST /token HTTP/1.1\r\n${form}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`],
    ['a space before the colon', 'POST /token HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n'],
    ['NUL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n'],
    ['TLS to a plain port', '\x16\x03\x01\x00\xc8\x01\x00\x00\xc4'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['no HTTP at all', 'hello\r\n\r\n'],
  ])('%s', async (_, request) => {
    const text = await raw(server.port, Buffer.from(request, 'latin1'))
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[^]*Connection: close/)
    expect(text).not.toMatch(/HTTP\/1\.1 200/)
  })

  it.each(['Authorization: Basic YTpi', 'DPoP: a', 'Content-Type: application/x-www-form-urlencoded'])(
    '%s twice',
    async (header) => {
      const other = header.replace(/:.*/, ': other').replace(/^./, (letter) => letter.toLowerCase())
      expect(await send(`GET /userinfo HTTP/1.1\r\nHost: x\r\n${header}\r\n${other}`)).toMatch(/^HTTP\/1\.1 400 /)
      expect(await send(`GET /userinfo HTTP/1.1\r\nHost: x\r\n${header}\r\nX-Else: 1`)).toMatch(/^HTTP\/1\.1 200 /)
    },
  )
})

describe('UI06: other origins', () => {
  it.each(['https://app.example', 'null', 'http://localhost:8080', 'https://id.example.evil.example'])(
    'Origin: %s gets no credentials and is not reflected',
    async (origin) => {
      for (const path of ['/userinfo', '/.well-known/openid-configuration', '/jwks.json']) {
        const reply = await fetch(`${server.origin}${path}`, { headers: { origin, cookie: 'sid=1' } })
        expect(reply.headers.get('access-control-allow-origin')).toBe('*')
        expect(reply.headers.get('access-control-allow-credentials')).toBeNull()
      }
      for (const path of ['/authorize', '/', '/interaction/a/login', '/assets/a.css', '/nowhere']) {
        const reply = await fetch(`${server.origin}${path}`, { headers: { origin } })
        expect(reply.headers.get('access-control-allow-origin')).toBeNull()
      }
    },
  )

  it('answers a preflight with what the route takes', async () => {
    const preflight = (path: string) =>
      fetch(`${server.origin}${path}`, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://app.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,dpop,x-evil',
        },
      })
    const token = await preflight('/token')
    expect(token.status).toBe(204)
    expect(token.headers.get('access-control-allow-methods')).toBe('POST')
    expect(token.headers.get('access-control-allow-credentials')).toBeNull()
    expect((await preflight('/userinfo')).headers.get('access-control-allow-methods')).toBe('GET, POST')
    for (const path of ['/token', '/userinfo', '/jwks.json', '/.well-known/openid-configuration']) {
      const { headers } = await preflight(path)
      expect(headers.get('access-control-allow-headers'), path).toBe('*, Authorization')
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-max-age')).toBe('3600')
    }
    expect((await preflight('/authorize')).status).toBe(405)
  })

  it('lets a browser read an error of /token, and its nonce', async () => {
    const reply = await fetch(`${server.origin}/token`, { method: 'POST', body: '{}' })
    expect(reply.status).toBe(415)
    expect(reply.headers.get('access-control-allow-origin')).toBe('*')
    expect(reply.headers.get('access-control-expose-headers')).toContain('DPoP-Nonce')
    const document = await fetch(`${server.origin}/.well-known/openid-configuration`, { method: 'PUT' })
    expect([document.status, document.headers.get('access-control-allow-origin')]).toEqual([405, '*'])
    const long = await fetch(`${server.origin}/token`, { method: 'POST', headers: { traceparent: 'x'.repeat(17_000) } })
    expect([long.status, long.headers.get('access-control-allow-origin')]).toEqual([431, '*'])
  })
})

describe('SI05: a repeated cookie name', () => {
  it('is not a cookie', async () => {
    const cookie = (value: string) => send(`GET /userinfo HTTP/1.1\r\nHost: x\r\n${value}`)
    expect(await cookie('Cookie: a=1; sid=good; b=2')).toContain('"cookie":"good"')
    expect(await cookie('Cookie: sid=good; sid=evil')).toContain('"cookie":null')
    expect(await cookie('Cookie: sid=good\r\nCookie: sid=evil')).toContain('"cookie":null')
    expect(await cookie('Cookie: sid=good; sid=good; sid=evil')).toContain('"cookie":null')
    expect(await cookie('Cookie: ;;=;sid;sid=;; =x')).toContain('"cookie":""')
  })
})
