import { beforeAll, describe, expect, it } from 'vitest'
import { asking, type Asking, type Sent } from '../support/clients/authorize-ask.js'
import { alice, callback } from '../support/server/authorize-provider.js'
import { provider, setUpProvider } from '../support/server/authorize-set-up.js'

setUpProvider()

let at: Asking

beforeAll(async () => {
  const resource = ['https://api.example/', 'urn:example:ledger']
  const claims = '{"id_token":{"email":null}}'
  at = asking(provider, await provider.signedIn(alice, { scope: 'openid profile', resource, claims }))
})

const accepted: Record<string, readonly [redirectUri: string, sent: Sent]> = {
  'AZ12 code twice': [callback, { response_type: 'code code' }],
  'AZ12 padded': [callback, { response_type: ' code ' }],
  'AZ13 response_mode query': [callback, { response_mode: 'query' }],
  'no PKCE for a confidential client': [callback, { code_challenge: undefined, code_challenge_method: undefined }],
  'unknown parameters': [callback, { foo: 'bar' }],
  'hints of every kind': [
    callback,
    { login_hint: 'alice@example.com', ui_locales: 'de-CH en', display: 'popup', acr_values: 'urn:x urn:y' },
  ],
  'id_token_hint of this user': [callback, { id_token_hint: 'ours:sub-alice' }],
  'max_age not over': [callback, { max_age: '3600' }],
  'two resources': [callback, { resource: ['https://api.example/', 'urn:example:ledger'] }],
  'claims with what nobody understands': [
    callback,
    { claims: '{"x":1,"id_token":{"email":{"essential":true,"x":{}},"__proto__":null}}' },
  ],
}

describe('accepted', () => {
  it.each(Object.entries(accepted))('%s', async (_, [redirectUri, sent]) => {
    for (const method of ['GET', 'POST'] as const) {
      const answer = at.answerOf(await at.ask(sent, method))
      expect(answer.href.startsWith(`${redirectUri}?code=`)).toBe(true)
      expect(await provider.codeIn(answer)).toMatchObject({ redirectUri })
    }
  })

  it('redirect_uri omitted when one is registered, without openid', async () => {
    const here = asking(provider, await provider.signedIn(alice, { scope: 'profile' }))
    const answer = here.answerOf(await here.ask({ redirect_uri: undefined, scope: 'profile' }))
    expect(answer.href.startsWith(`${callback}?code=`)).toBe(true)
    expect(await provider.codeIn(answer)).toMatchObject({ redirectUri: callback })
  })

  it('AZ20, AZ21 a state of markup and line ends comes back encoded and unchanged', async () => {
    for (const state of [
      '"><script>alert(1)</script>',
      'a\r\nSet-Cookie: b=c',
      'a&iss=evil&code=x',
      'ü ☃ +%20',
      "a'b",
    ]) {
      const response = await at.ask({ state })
      const location = response.headers.get('location') ?? ''
      expect(location).toMatch(/^[\x21-\x7e]+$/)
      expect(location).not.toContain('<')
      const answer = new URL(location)
      expect(answer.searchParams.getAll('state')).toEqual([state])
      expect(answer.searchParams.getAll('iss')).toEqual([provider.issuer])
      expect(response.headers.getSetCookie()).toEqual([])
      expect((await at.expectRefusal({ state, scope: 'admin' }, 'invalid_scope')).searchParams.get('state')).toBe(state)
    }
  })

  it('AZ20 form_post escapes its values', async () => {
    const response = await at.ask({ response_mode: 'form_post', state: '"><script>alert(1)</script>' })
    const html = await response.text()
    expect(response.status).toBe(200)
    expect(html).not.toContain('<script>alert')
    expect(html).toContain('name="code"')
    expect(response.headers.get('content-security-policy')).not.toContain('unsafe-inline')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('cache-control')).toContain('no-store')
  })

  it('AZ04 a native client may choose the port of a loopback address', async () => {
    for (const redirect_uri of [
      'http://127.0.0.1:51004/cb',
      'http://127.0.0.1/cb',
      'http://[::1]:9/cb',
      'com.example.app:/cb',
    ]) {
      const response = await at.ask({ client_id: 'native', redirect_uri })
      expect(response.status).toBe(303)
      expect(response.headers.get('location')).toMatch(/\/interaction\/[\w-]{43}\/consent$/)
    }
  })

  it('a redirect URI keeps its own query', async () => {
    const sent = { client_id: 'second', redirect_uri: 'https://client.example/other?x=1', prompt: 'none' }
    const answer = at.answerOf(await at.ask(sent))
    expect(answer.searchParams.get('x')).toBe('1')
    expect(answer.searchParams.get('error')).toBe('consent_required')
  })
})
