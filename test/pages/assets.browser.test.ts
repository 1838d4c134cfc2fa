import { afterAll, beforeAll, expect, it } from 'vitest'
import { startPagesServer, type PagesServer } from '../support/server/pages-server.js'

let server: PagesServer

beforeAll(async () => {
  server = await startPagesServer()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

it.each([
  ['signet.css', 'text/css; charset=utf-8'],
  ['form-post.js', 'text/javascript; charset=utf-8'],
  ['signet.svg', 'image/svg+xml'],
])('serves %s as %s, briefly cached, for ever by its version', async (name, contentType) => {
  const first = await fetch(`${server.origin}/assets/${name}`)
  expect(first.status).toBe(200)
  expect(first.headers.get('content-type')).toBe(contentType)
  expect(first.headers.get('cache-control')).toBe('public, max-age=300')
  const etag = first.headers.get('etag') ?? ''
  expect((await first.text()).length).toBeGreaterThan(10)

  const versioned = await fetch(`${server.origin}/assets/${name}?v=${etag.replaceAll('"', '')}`)
  expect(versioned.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  const stale = await fetch(`${server.origin}/assets/${name}?v=old`)
  expect(stale.headers.get('cache-control')).toBe('public, max-age=300')

  for (const tags of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    const again = await fetch(`${server.origin}/assets/${name}`, { headers: { 'If-None-Match': tags } })
    expect(again.status).toBe(304)
  }
})

it.each([
  '',
  'nothing.css',
  '../views/layout.eta',
  '..%2fviews%2flayout.eta',
  '__proto__',
  'constructor',
  'signet.css/',
])('has no asset %j', async (name) => {
  const response = await fetch(`${server.origin}/assets/${name}`)
  expect(response.status).toBe(404)
  expect(await response.text()).toBe('Not found\n')
})
