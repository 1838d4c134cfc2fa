import { beforeAll, describe, expect, it } from 'vitest'
import { asking, type Asking, type Sent } from '../support/clients/authorize-ask.js'
import { callback } from '../support/server/authorize-provider.js'
import { expectErrorPage } from '../support/server/authorize-pages.js'
import { provider, setUpProvider } from '../support/server/authorize-set-up.js'
import { UserAgent } from '../support/clients/user-agent.js'

setUpProvider()

let at: Asking

beforeAll(async () => {
  at = asking(provider, await provider.signedIn())
})

const pages: Record<string, Sent> = {
  'AZ01 unknown client_id': { client_id: 'nobody' },
  'AZ01 client_id missing': { client_id: undefined },
  'AZ01 client_id empty': { client_id: '' },
  'AZ01 client_id of an inherited name': { client_id: '__proto__' },
  'AZ01 client_id longer than any': { client_id: 'x'.repeat(2000) },
  'AZ01 disabled client': { client_id: 'off' },
  'AZ02 unregistered redirect_uri': { redirect_uri: 'https://evil.example/cb' },
  'AZ02 javascript redirect_uri': { redirect_uri: 'javascript:alert(1)' },
  'AZ03 suffix': { redirect_uri: `${callback}x` },
  'AZ03 extra path': { redirect_uri: `${callback}/x` },
  'AZ03 trailing slash': { redirect_uri: `${callback}/` },
  'AZ03 path traversal': { redirect_uri: 'https://client.example/x/../cb' },
  'AZ03 sub-domain': { redirect_uri: 'https://client.example.evil.example/cb' },
  'AZ03 other sub-domain': { redirect_uri: 'https://a.client.example/cb' },
  'AZ03 userinfo': { redirect_uri: 'https://client.example@evil.example/cb' },
  'AZ03 dot as in a pattern': { redirect_uri: 'https://clientxexample/cb' },
  'AZ03 query': { redirect_uri: `${callback}?x=1` },
  'AZ03 fragment': { redirect_uri: `${callback}#` },
  'AZ03 upper case': { redirect_uri: 'https://CLIENT.example/cb' },
  'AZ03 default port': { redirect_uri: 'https://client.example:443/cb' },
  'AZ03 percent-encoded': { redirect_uri: 'https://client.example/%63b' },
  'AZ03 CRLF': { redirect_uri: `${callback}\r\nSet-Cookie: a=b` },
  'AZ03 backslash': { redirect_uri: 'https://client.example\\@evil.example/cb' },
  'AZ04 loopback port for a web client': { client_id: 'local', redirect_uri: 'http://127.0.0.1:5000/cb' },
  'AZ04 loopback, other path': { client_id: 'native', redirect_uri: 'http://127.0.0.1:5000/cb2' },
  'AZ04 loopback, added query': { client_id: 'native', redirect_uri: 'http://127.0.0.1:5000/cb?x' },
  'AZ04 loopback, other address': { client_id: 'native', redirect_uri: 'http://127.0.0.2:5000/cb' },
  'AZ04 loopback by name': { client_id: 'native', redirect_uri: 'http://localhost:5000/cb' },
  'AZ04 loopback, https': { client_id: 'native', redirect_uri: 'https://127.0.0.1:5000/cb' },
  'AZ04 loopback, userinfo': { client_id: 'native', redirect_uri: 'http://127.0.0.1:5000@evil.example/cb' },
  'AZ04 loopback, port over 65535': { client_id: 'native', redirect_uri: 'http://127.0.0.1:65536/cb' },
  'AZ04 private-use scheme, other path': { client_id: 'native', redirect_uri: 'com.example.app:/cb2' },
  'AZ05 redirect_uri twice': { redirect_uri: [callback, callback] },
  'AZ05 redirect_uri twice, one evil': { redirect_uri: [callback, 'https://evil.example/'] },
  'AZ05 redirect_uri once and once empty': { redirect_uri: [callback, ''] },
  'AZ05 client_id twice': { client_id: ['web', 'web'] },
  'AZ05 client_id of two': { client_id: ['web', 'second'] },
  'AZ07 redirect_uri omitted, several registered': { client_id: 'second', redirect_uri: undefined, scope: 'profile' },
  'AZ07 redirect_uri omitted with openid': { redirect_uri: undefined },
  'AZ23 request object, alg none': { request: 'eyJhbGciOiJub25lIn0.e30.' },
  'AZ24 request object of another client': { request: 'eyJhbGciOiJub25lIn0.eyJjbGllbnRfaWQiOiJ4In0.' },
  'AZ25 request object, HS256': { request: 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA' },
}

describe('refused on a page, never by a redirect', () => {
  it.each(Object.entries(pages))('%s', async (_, sent) => {
    const before = await provider.refusalsOf('authorization.refused')
    await at.expectPage(sent)
    await at.expectPage(sent, 'POST')
    expect(await provider.refusalsOf('authorization.refused')).toBe(before + 2)
    await at.expectGood()
  })
  it.each(['client_id', 'redirect_uri', 'state', 'prompt'])('AZ05 %s in the query and in the body', async (name) => {
    const body = new URL(provider.url({ prompt: 'consent' })).searchParams
    for (const value of [body.get(name) ?? '', 'https://evil.example/cb']) {
      const url = `${provider.issuer}/authorize?${new URLSearchParams({ [name]: value }).toString()}`
      const response = await new UserAgent().fetch(url, { method: 'POST', body })
      await expectErrorPage(response, 400)
    }
    // What the query alone has means nothing.
    const unknown = await new UserAgent().fetch(`${provider.issuer}/authorize?tenant=a&state=`, {
      method: 'POST',
      body,
    })
    expect(unknown.headers.get('location')).toContain('/interaction/')
  })
})
