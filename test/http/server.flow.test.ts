import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as tlsConnect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { page } from '../../core/endpoints/message.js'
import { raw, startFixture, startUntilTestEnds } from '../support/server/http-server.js'
import { testCertificate } from '../support/server/certificate.js'

const text = async (message: IncomingMessage): Promise<string> => {
  let body = ''
  for await (const chunk of message) body += String(chunk)
  return body
}

describe('an issuer with a path', () => {
  it('serves everything under it, with discovery in both forms', async () => {
    const { origin } = await startUntilTestEnds({ issuer: 'https://bank.example/op' })
    for (const path of [
      '/op/.well-known/openid-configuration',
      '/op/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration/op',
      '/.well-known/oauth-authorization-server/op',
    ]) {
      const reply = await fetch(origin + path)
      expect(await reply.json()).toMatchObject({ issuer: 'https://bank.example/op' })
    }
    for (const path of [
      '/op/jwks.json',
      '/op',
      '/op/',
      '/op/authorize',
      '/op/interaction/a/login',
      '/op/assets/a.css',
    ]) {
      expect((await fetch(origin + path)).status, path).toBe(200)
    }
    for (const path of [
      '/',
      '/jwks.json',
      '/token',
      '/authorize',
      '/.well-known/openid-configuration',
      '/op/op/token',
    ]) {
      expect((await fetch(origin + path)).status, path).toBe(404)
    }
  })
})

describe('the security headers of pages', () => {
  it('forbid frames, inline script and caching; https adds HSTS', async () => {
    const { origin } = await startUntilTestEnds({ secure: true })
    const { headers } = await fetch(`${origin}/`)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("base-uri 'none'")
    expect(policy).not.toMatch(/unsafe|form-action/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('strict-transport-security')).toMatch(/^max-age=\d{8}/)
  })

  it('keep a policy of the page', async () => {
    const own = "default-src 'none'; script-src 'sha256-x'"
    const { origin } = await startUntilTestEnds({
      endpoints: {
        home: () => {
          const reply = page(200, 'x', 'en')
          return { ...reply, headers: { ...reply.headers, 'Content-Security-Policy': own } }
        },
      },
    })
    const { headers } = await fetch(`${origin}/`)
    expect(headers.get('content-security-policy')).toBe(own)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('strict-transport-security')).toBeNull()
  })
})

describe('a trusted proxy', () => {
  it('determines the address from the right', async () => {
    const { port } = await startUntilTestEnds({ trustedProxies: ['127.0.0.0/8', '10.0.0.0/8', '2001:db8::/32'] })
    const address = async (forwarded: string): Promise<string | undefined> => {
      const reply = await raw(
        port,
        `GET /userinfo HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${forwarded}\r\nConnection: close\r\n\r\n`,
      )
      return /"address":"([^"]*)"/.exec(reply)?.[1]
    }
    expect(await address('203.0.113.9')).toBe('203.0.113.9')
    expect(await address('6.6.6.6, 203.0.113.9')).toBe('203.0.113.9')
    expect(await address('6.6.6.6,203.0.113.9 , 10.1.2.3')).toBe('203.0.113.9')
    expect(await address('203.0.113.9\r\nX-Forwarded-For: 10.1.2.3')).toBe('203.0.113.9')
    expect(await address('6.6.6.6, [2001:db8::1]:443')).toBe('6.6.6.6')
    expect(await address('203.0.113.9:8080')).toBe('203.0.113.9')
    expect(await address('::ffff:203.0.113.9')).toBe('203.0.113.9')
    expect(await address('6.6.6.6, unknown')).toBe('127.0.0.1')
    expect(await address('6.6.6.6, <script>')).toBe('127.0.0.1')
    expect(await address('6.6.6.6, 10.1.1.1, nonsense, 10.1.2.3')).toBe('10.1.2.3')
    expect(await address('6.6.6.6,')).toBe('127.0.0.1')
    expect(await address('10.1.1.1')).toBe('10.1.1.1')
    expect(await address(`6.6.6.6, ${'10.1.1.1, '.repeat(100)}10.1.1.1`)).toBe('10.1.1.1')
  })

  it('must be listed', async () => {
    const { port } = await startUntilTestEnds({ trustedProxies: ['10.0.0.0/8', 'unix'] })
    const head = 'GET /userinfo HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n'
    expect(await raw(port, head)).toContain('"address":"127.0.0.1"')
  })

  it('that is not an address range is refused', async () => {
    for (const range of ['10.0.0.0/33', 'proxy.example', '10.0.0.0/x', '', '::1/129', '10.0.0.0/']) {
      await expect(startFixture({ trustedProxies: [range] }), range).rejects.toThrow(TypeError)
    }
  })
})

describe('a unix socket', () => {
  let directory: string
  beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), 'http-'))))
  afterAll(() => rm(directory, { recursive: true }))

  const getOver = async (socketPath: string, headers = {}): Promise<string> => {
    const request = httpRequest({ socketPath, path: '/userinfo', headers: { host: 'x', ...headers } }).end()
    const [message] = (await once(request, 'response')) as [IncomingMessage]
    return text(message)
  }

  it('serves, with mode 0660, and is removed at shutdown', async () => {
    const path = join(directory, 'a.sock')
    const server = await startFixture({ host: path })
    expect(server.url).toBe(`unix:${path}`)
    expect((await stat(path)).mode & 0o777).toBe(0o660)
    expect(await getOver(path, { 'x-forwarded-for': '203.0.113.9' })).toContain('"address":"unix"')
    await server.close(1000)
    await expect(stat(path)).rejects.toThrow('ENOENT')
  })

  it('is a trusted proxy when the configuration says so', async () => {
    const path = join(directory, 'b.sock')
    await startUntilTestEnds({ host: path, trustedProxies: ['unix'] })
    expect(await getOver(path, { 'x-forwarded-for': '6.6.6.6, 203.0.113.9' })).toContain('"address":"203.0.113.9"')
  })

  it('replaces only the socket of a killed process', async () => {
    const path = join(directory, 'c.sock')
    const other = createServer().listen(path)
    await once(other, 'listening')
    await expect(startFixture({ host: path })).rejects.toThrow('EADDRINUSE')
    other.close()
    const file = join(directory, 'file')
    await writeFile(file, 'precious')
    await expect(startFixture({ host: file })).rejects.toThrow('EADDRINUSE')
    const left = join(directory, 'd.sock')
    const code = `require('net').createServer().listen(${JSON.stringify(left)}, () => process.kill(process.pid, 'SIGKILL'))`
    spawnSync(process.execPath, ['-e', code])
    expect((await stat(left)).isSocket()).toBe(true)
    await startUntilTestEnds({ host: left })
    expect(await getOver(left)).toContain('"address":"unix"')
  })
})

describe('TLS', () => {
  it('serves, from version 1.2', async () => {
    const { port } = await startUntilTestEnds({ tls: testCertificate })
    const request = httpsRequest({
      port,
      host: '127.0.0.1',
      path: '/jwks.json',
      ca: testCertificate.cert,
      servername: 'localhost',
    })
    const [message] = (await once(request.end(), 'response')) as [IncomingMessage]
    expect(await text(message)).toBe('{"keys":[]}')
    const old = tlsConnect({
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
    })
    const [error] = (await once(old, 'error')) as [Error]
    expect(error.message).toMatch(/protocol|version|alert/i)
  })

  it('says nothing to a client that speaks plain HTTP', async () => {
    const { port } = await startUntilTestEnds({ tls: testCertificate })
    expect(await raw(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).not.toContain('Signet')
  })
})
