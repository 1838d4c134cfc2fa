import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectGood, raw, startFixture, type Fixture } from '../support/server/http-server.js'

// F27: what one client sends in one go must not keep the event loop from all others.

let server: Fixture
beforeAll(async () => {
  server = await startFixture()
})
afterAll(() => server.close(0))

const formType = 'application/x-www-form-urlencoded'
const served = (): number => server.log.lines.filter(({ message }) => message === 'request').length
const answers = (text: string): readonly string[] => text.match(/HTTP\/1\.1 \d+/g) ?? []
const last = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
const token = `POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\nContent-Length: 3\r\n\r\na=1`
const keySet = 'GET /jwks.json HTTP/1.1\r\nHost: x\r\n\r\n'

describe('many requests in one packet', () => {
  it('ten are answered in their order', async () => {
    const text = await raw(server.port, token.repeat(4) + keySet.repeat(5) + last)
    expect(answers(text)).toHaveLength(10)
    const bodies = [...text.matchAll(/\{"(method|keys)"|<h1>/g)].map(([, name]) => name)
    expect(bodies).toEqual([
      ...Array.from({ length: 4 }, () => 'method'),
      ...Array.from({ length: 5 }, () => 'keys'),
      undefined,
    ])
  })

  it.each([
    ['with a body', token],
    ['without one', keySet],
    ['without a Host', 'GET /jwks.json HTTP/1.1\r\n\r\n'],
    ['that expect what nobody knows', 'GET /jwks.json HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n'],
    ['to nowhere', 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('of more than ten %s the rest are not served, and the connection is closed', async (_, request) => {
    const before = served()
    const text = await raw(server.port, request.repeat(1000) + last)
    expect(answers(text).length).toBeLessThanOrEqual(10)
    expect(served() - before).toBeLessThanOrEqual(10)
    await expectGood(server.origin)
  })
})

it.each([token, keySet])('what follows too many requests in one packet is not parsed', async (request) => {
  let parsed = 0
  const count = () => void (parsed += 1)
  subscribe('http.server.request.start', count)
  await raw(server.port, request.repeat(1000))
  unsubscribe('http.server.request.start', count)
  expect(parsed).toBeGreaterThan(10)
  expect(parsed).toBeLessThan(100)
})

describe('a body in pieces', () => {
  const head = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${formType}\r\nTransfer-Encoding: chunked\r\n\r\n`

  it.each(['/token', '/authorize', '/interaction/a/login'])('of one byte are read at %s', async (path) => {
    const text = await raw(
      server.port,
      `${head(path)}${[...'username=alice'].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`,
    )
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    expect(text).toContain('alice')
  })

  it.each(['/token', '/authorize', '/interaction/a/login'])(
    'of one byte end the connection when there are thousands at %s',
    async (path) => {
      expect(await raw(server.port, `${head(path)}1\r\na\r\n1\r\n=\r\n${'1\r\nb\r\n'.repeat(5000)}0\r\n\r\n`)).toBe('')
      await expectGood(server.origin)
    },
  )
})

it('a request without a Host is refused (RFC 9112 §3.2), unless it is HTTP/1.0', async () => {
  expect(await raw(server.port, 'GET /jwks.json HTTP/1.1\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 400 [^]*Connection: close[^]*"error":"invalid_request"/,
  )
  expect(await raw(server.port, 'GET /jwks.json HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
})

it('an unknown expectation is ignored (RFC 9110 §10.1.1)', async () => {
  const text = await raw(server.port, 'GET /jwks.json HTTP/1.1\r\nHost: x\r\nExpect: x\r\nConnection: close\r\n\r\n')
  expect(text).toMatch(/^HTTP\/1\.1 200 /)
})
