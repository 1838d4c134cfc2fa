import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newOpaqueToken } from '../../core/opaque-token.js'
import { freePort } from '../support/free-port.js'
import { startServer, type TestServer } from '../support/server/server.js'

const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const shop = {
  client_id: 'shop',
  token_endpoint_auth_method: 'none',
  redirect_uris: ['http://localhost:5520/callback'],
  scope: 'openid',
}

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    configure: (written) => ({
      ...written,
      trusted_proxies: ['127.0.0.1/32'],
      clients: [...(written['clients'] as object[]), shop],
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

/** Refusals of one address share lines. */
let addresses = 0
const from = () => ({ 'x-forwarded-for': `192.0.2.${String(++addresses)}` })

const ask = (parameters: Readonly<Record<string, string>>, at = server.issuer) =>
  fetch(`${at}/authorize?${new URLSearchParams({ response_type: 'code', scope: 'openid', ...parameters })}`, {
    redirect: 'manual',
    headers: from(),
  })

/** What the page of an error shows beside its message. */
const factsOf = async (response: Response) => {
  const html = await response.text()
  const found = html.matchAll(/<dd[^>]*id="error-(client_id|redirect_uri|redirect_uris|hint)"[^>]*>([^<]*)</g)
  return Object.fromEntries(Array.from(found, ([, name = '', value]) => [name, value]))
}

const lineOf = async (response: Response) => {
  const id = response.headers.get('x-request-id')
  await expect.poll(async () => (await server.audit()).some(({ request_id }) => request_id === id)).toBe(true)
  return (await server.audit()).find(({ request_id }) => request_id === id)
}

describe('a client_id that no client has', () => {
  it('is in the audit log and, on loopback, on the page, with a suggestion', async () => {
    const response = await ask({ client_id: 'shpo' })
    expect(await factsOf(response)).toEqual({ client_id: 'shpo', hint: 'did you mean shop?' })
    expect(await lineOf(response)).toMatchObject({ reason: 'unknown client', sent_client_id: 'shpo' })
  })

  it('is truncated, and shown without unprintable characters', async () => {
    const response = await ask({ client_id: `<b>\u202e\n${'x.'.repeat(250)}` })
    const shown = `<b>??${'x.'.repeat(30).slice(0, 59)}`
    expect(await factsOf(response)).toEqual({ client_id: shown.replace('<b>', '&lt;b&gt;') })
    expect(await lineOf(response)).toMatchObject({ sent_client_id: shown })
  })

  it('is hidden if it may be a misplaced token, also within a redirect URI', async () => {
    const token = newOpaqueToken()
    const response = await ask({ client_id: `${token}.more` })
    expect(await lineOf(response)).toMatchObject({ reason: 'unknown client', sent_client_id: '[redacted].more' })
    const redirected = await ask({ client_id: 'shop', redirect_uri: `https://client.example/${token}/cb` })
    expect(await lineOf(redirected)).toMatchObject({ sent_redirect_uri: 'https://client.example/[redacted]/cb' })
  })

  it('is on no page of an issuer that is not on loopback', async () => {
    const port = await freePort()
    await using elsewhere = await startServer({
      configure: (written) => ({ ...written, issuer: 'https://id.example', listen: { host: '127.0.0.1', port } }),
    })
    expect(elsewhere.issuer).toBe('https://id.example')
    const response = await ask({ client_id: 'wbe' }, `http://127.0.0.1:${String(port)}`)
    expect(response.status).toBe(400)
    expect(await response.clone().text()).not.toContain('wbe')
    expect(await factsOf(response)).toEqual({})
  })
})

it.each([
  ['http://localhost:5520/callback/', 'differs by the slash at the end'],
  ['http://localhost:5520/Callback', 'differs by upper and lower case'],
  ['http://localhost:5521/callback', 'differs by the port'],
  ['https://localhost:5520/callback', 'differs by the scheme'],
  ['http://127.0.0.1:5520/callback', 'differs by the host'],
  ['http://localhost:5520/cb', 'differs by the path'],
  ['https://other.example/cb', 'differs by the scheme, the host, the port, the path'],
])('says of the redirect URI %s that it %s', async (redirect_uri, hint) => {
  const response = await ask({ client_id: 'shop', redirect_uri })
  const registered = 'http://localhost:5520/callback'
  expect(await factsOf(response)).toEqual({ client_id: 'shop', redirect_uri, redirect_uris: registered, hint })
})

it('explains what a code_challenge must be', async () => {
  const asked = { client_id: 'shop', redirect_uri: 'http://localhost:5520/callback', code_challenge_method: 'S256' }
  const response = await ask({ ...asked, code_challenge: 'a'.repeat(43) })
  const location = new URL(response.headers.get('location')!)
  expect(location.searchParams.get('error_description')).toBe(
    'The parameter code_challenge is not the base64url of 32 bytes.',
  )
  expect((await ask({ ...asked, code_challenge: challenge })).headers.get('location')).toContain('/interaction/')
})
