import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { webClient } from '../support/server/server.js'
import { es256, header, startAssertionServer, type AssertionServer } from '../support/server/assertion-server.js'
import { basic } from '../support/clients/clients.js'
import { expectBadProof, startDpopServer, type DpopServer } from '../support/server/dpop-server.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { expectRefusal } from '../support/server/token-server.js'
import { signAssertion } from '../support/clients/client-assertion.js'

const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Nothing here decrypts: each is refused by its form, before anything is unpacked or derived. */
const encrypted = [
  { alg: 'RSA-OAEP-256', enc: 'A256GCM', zip: 'DEF' },
  { alg: 'dir', enc: 'A256GCM', zip: 'DEF', cty: 'JWT' },
  { alg: 'ECDH-ES', enc: 'A128GCM', epk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } },
  { alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2c: 2_147_483_647, p2s: 'AAAAAAAAAAA' },
  { alg: 'PBES2-HS512+A256KW', enc: 'A256GCM', p2c: 1e308, p2s: 'AAAAAAAAAAA' },
].map((jose) => [part(jose), 'AAAA', 'AAAAAAAAAAAAAAAA', part('x'.repeat(900)), 'AAAAAAAAAAAAAAAAAAAAAA'].join('.'))

describe('JW04 JW05 encrypted tokens, compressed or with a costly key, at every door', () => {
  let server: AssertionServer
  let dpop: DpopServer
  beforeAll(async () => {
    ;[server, dpop] = await Promise.all([startAssertionServer(), startDpopServer()])
  })
  afterAll(() => Promise.all([server.host[Symbol.asyncDispose](), dpop.host[Symbol.asyncDispose]()]))
  afterEach(() => Promise.all([server.expectGood(), dpop.expectGood()]))

  it.each(encrypted)('as assertion, access token, DPoP proof: %s', async (jwe) => {
    await server.expectRefused(jwe)
    expectRefusal(await dpop.host.userinfo(jwe), 401, 'invalid_token')
    expectBadProof(await dpop.ask(jwe))
  })

  it.each(encrypted)('as question of /introspect: %s', async (token) => {
    const response = await fetch(`${dpop.host.server.issuer}/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token }),
      headers: { authorization: basic(webClient) },
    })
    expect({ status: response.status, body: await response.json() }).toEqual({ status: 200, body: { active: false } })
  })

  it.each(encrypted)('as request object: %s', async (request) => {
    const url = authorizeUrl(dpop.host.server.issuer, { state: 's', request })
    const response = await fetch(url, { redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([400, null])
    expect(await response.text()).toContain('The request object is invalid.')
  })

  it('CA20 headers that carry a certificate authenticate nobody', async () => {
    const certificate = 'MIIBnDCCAUGgAwIBAgIUKdhYFtDR06RPbZqwa25HW'
    const certificateHeaders = {
      'x-ssl-client-cert': certificate,
      'x-client-cert': certificate,
      'x-forwarded-client-cert': `Subject="CN=web";Cert="${certificate}"`,
      'client-cert': `:${certificate}:`,
      'ssl-client-verify': 'SUCCESS',
      'x-ssl-client-s-dn': 'CN=web',
    }
    for (const client_id of [webClient.client_id, 'signer'])
      for (const [name, value] of [...Object.entries(certificateHeaders), ['x-ssl-client-verify', 'SUCCESS']]) {
        const form = { grant_type: 'client_credentials', client_id }
        expectRefusal(await server.host.token(form, { [String(name)]: String(value) }), 401, 'invalid_client')
        expectRefusal(await server.host.token(form, certificateHeaders), 401, 'invalid_client')
      }
    const wrong = signAssertion(es256, header, server.claims({ sub: 'web' }))
    await server.expectRefused(wrong)
  })
})
