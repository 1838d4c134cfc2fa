import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { unseenTexts } from '../support/forge/unseen-texts.js'
import { person, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'

const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const challenge = createHash('sha256').update(verifier).digest('base64url')

const paymentType = {
  type: 'payment_initiation',
  title: 'Make a payment',
  schema: {
    type: 'object',
    additionalProperties: false,
    required: ['instructedAmount', 'creditorName', 'creditorAccount'],
    properties: {
      instructedAmount: {
        type: 'object',
        additionalProperties: false,
        required: ['currency', 'amount'],
        properties: {
          currency: { type: 'string', pattern: '^[A-Z]{3}$' },
          amount: { type: 'string', pattern: '^[0-9]{1,12}[.][0-9]{2}$' },
        },
      },
      creditorName: { type: 'string', maxLength: 70 },
      creditorAccount: {
        type: 'object',
        additionalProperties: false,
        required: ['iban'],
        properties: { iban: { type: 'string', pattern: '^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$' } },
      },
    },
  },
  show: [
    { label: 'Amount', path: '/instructedAmount', format: 'amount' },
    { label: 'To', path: '/creditorName' },
    { label: 'Account', path: '/creditorAccount/iban' },
  ],
}

const payment = (amount = '12.34') => ({
  type: 'payment_initiation',
  instructedAmount: { currency: 'EUR', amount },
  creditorName: 'Merchant A & B <i>',
  creditorAccount: { iban: 'DE02100100109307118603' },
})

const bank = { ...webClient, authorization_details_types: ['payment_initiation'] }
const shop = { ...webClient, client_id: 'shop' }
const asBank = { authorization: basic(bank) }

type Answer = Record<string, unknown>

const claimsOf = (token: unknown): Answer =>
  JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString()) as Answer

describe('rich authorization requests (RFC 9396)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      configure: (written) => ({
        ...written,
        authorization_details_types: [paymentType],
        clients: [bank, shop, { ...bank, client_id: 'first-party', consent: 'implicit' }],
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const url = (details: string, more: Record<string, string> = {}) =>
    `${server.issuer}/authorize?${new URLSearchParams({
      ...{ client_id: 'web', redirect_uri: redirectUri, response_type: 'code', scope: 'openid offline_access' },
      ...{ code_challenge: challenge, code_challenge_method: 'S256', state: 'the state' },
      ...(details !== '' && { authorization_details: details }),
      ...more,
    })}`
  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = asBank) => {
    const response = await fetch(server.issuer + path, { method: 'POST', headers, body: new URLSearchParams(form) })
    return { status: response.status, body: (await response.json()) as Answer }
  }
  const redeem = (left: URL, more: Record<string, string> = {}) =>
    post('/token', {
      ...{ grant_type: 'authorization_code', code: left.searchParams.get('code') ?? '', redirect_uri: redirectUri },
      ...{ code_verifier: verifier, ...more },
    })
  const refusedAs = async (details: string, more: Record<string, string> = {}) => {
    const { left } = await new UserAgent().follow(url(details, more))
    return [left?.searchParams.get('error'), left?.searchParams.get('state'), left?.searchParams.get('iss')]
  }

  it('shows a payment in words, and puts it unchanged into token, response, introspection and refreshed token', async () => {
    const agent = new UserAgent()
    const login = await agent.follow(url(JSON.stringify([payment()])))
    const page = await agent.submit(login.url, await login.response.text(), { ...person })
    const html = await page.response.text()
    for (const text of ['Make a payment', '12.34 EUR', 'Merchant A &amp; B &lt;i&gt;', 'DE02100100109307118603'])
      expect(html).toContain(text)
    const { left } = await agent.submit(page.url, html, { decision: 'allow' })
    if (left === undefined) throw new Error('no answer')
    const { status, body } = await redeem(left)
    expect([status, body['authorization_details']]).toEqual([200, [payment()]])
    expect(claimsOf(body['access_token'])['authorization_details']).toEqual([payment()])
    expect(claimsOf(body['id_token'])).not.toHaveProperty('authorization_details')
    for (const name of ['access_token', 'refresh_token']) {
      const told = await post('/introspect', { token: String(body[name]) })
      expect([told.body['active'], told.body['authorization_details']], name).toEqual([true, [payment()]])
    }
    const refreshed = await post('/token', {
      ...{ grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) },
    })
    expect(refreshed.body['authorization_details']).toEqual([payment()])
    expect(claimsOf(refreshed.body['access_token'])['authorization_details']).toEqual([payment()])
  })

  it('RA10 grants less at /token on request, never more or other details, and the refused code still works', async () => {
    const both = [payment(), payment('5.00')]
    const left = await new UserAgent().authorize(url(JSON.stringify(both)), person)
    for (const asked of ['[{"type":"payment_initiation"}]', '[]', 'x', JSON.stringify([payment('12340.00')])])
      expect(await redeem(left, { authorization_details: asked })).toMatchObject({
        status: 400,
        body: { error: 'invalid_authorization_details' },
      })
    const { body } = await redeem(left, { authorization_details: JSON.stringify([payment('5.00')]) })
    expect(body['authorization_details']).toEqual([payment('5.00')])
    expect(claimsOf(body['access_token'])['authorization_details']).toEqual([payment('5.00')])
    const refresh = (details: string) =>
      post('/token', {
        ...{ grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) },
        authorization_details: details,
      })
    expect((await refresh(JSON.stringify([payment('12340.00')]))).body['error']).toBe('invalid_authorization_details')
    expect((await refresh(JSON.stringify([payment()]))).body['authorization_details']).toEqual([payment()])
  })

  it('RA11 issues none where none were granted', async () => {
    const left = await new UserAgent().authorize(url(''), person)
    const asked = await redeem(left, { authorization_details: JSON.stringify([payment()]) })
    expect(asked.body['error']).toBe('invalid_authorization_details')
    const { body } = await redeem(left)
    expect(body).not.toHaveProperty('authorization_details')
    expect(claimsOf(body['access_token'])).not.toHaveProperty('authorization_details')
  })

  it('RA12 asks for consent each time, whatever was allowed before, for every client', async () => {
    for (const client_id of ['web', 'first-party']) {
      const agent = new UserAgent()
      await agent.authorize(url('', { client_id }), person)
      const plain = await agent.follow(url('', { client_id }))
      expect(plain.left?.searchParams.has('code'), client_id).toBe(true)
      for (const time of ['first', 'second']) {
        const page = await agent.follow(url(JSON.stringify([payment()]), { client_id }))
        expect(page.url.pathname, `${client_id}, ${time}`).toMatch(/\/consent$/)
        expect((await agent.submit(page.url, await page.response.text(), { decision: 'allow' })).left).toBeDefined()
      }
      const silent = await agent.follow(url(JSON.stringify([payment()]), { client_id, prompt: 'none' }))
      expect(silent.left?.searchParams.get('error')).toBe('consent_required')
    }
  })

  it.each([
    ['RA01 not JSON', 'payment'],
    ['RA01 an object', JSON.stringify(payment())],
    ['RA01 an empty list', '[]'],
    ['RA01 a member that is no object', '["payment_initiation"]'],
    ['RA01 without type', JSON.stringify([{ ...payment(), type: undefined }])],
    ['RA01 a type that is no text', JSON.stringify([{ ...payment(), type: 1 }])],
    ['RA02 an unknown type', JSON.stringify([{ ...payment(), type: 'account_information' }])],
    ['RA02 the name of a member of objects', '[{"type":"__proto__"}]'],
    ['RA03 an unknown member', JSON.stringify([{ ...payment(), urgent: true }])],
    [
      'RA03 an unknown member below',
      JSON.stringify([{ ...payment(), creditorAccount: { ...payment().creditorAccount, bic: 'X' } }]),
    ],
    ['RA03 a missing member', JSON.stringify([{ ...payment(), creditorName: undefined }])],
    ['RA03 a number for a text', JSON.stringify([{ ...payment(), creditorName: 1 }])],
    ['RA03 a wrong amount', JSON.stringify([payment('12,34')])],
    ['RA03 one right and one wrong', JSON.stringify([payment(), payment('-1.00')])],
    ['RA04 text that turns its direction', JSON.stringify([{ ...payment(), creditorName: 'A\u202E43.21' }])],
    ...unseenTexts.map((text): [string, string] => [
      `RA04 ${JSON.stringify(text)}`,
      JSON.stringify([{ ...payment(), creditorName: text }]),
    ]),
    ['RA04 a name that nobody sees', JSON.stringify([{ ...payment(), 'creditorName\u200b': 'A' }])],
    ['RA04 a control character', JSON.stringify([{ ...payment(), creditorName: 'A\u0000' }])],
    ['RA05 more than ten', JSON.stringify(Array.from({ length: 11 }, () => payment()))],
    ['RA05 more than 4 KiB', JSON.stringify([{ ...payment(), creditorName: 'x'.repeat(5000) }])],
    ['RA05 nested too deep', `[{"type":"payment_initiation","x":${'['.repeat(500)}${']'.repeat(500)}}]`],
    ['RA06 __proto__ as a member', '[{"type":"payment_initiation","__proto__":{"x":1}}]'],
  ])('%s is refused by redirect and at /par', async (_name, details) => {
    expect(await refusedAs(details)).toEqual(['invalid_authorization_details', 'the state', server.issuer])
    const pushed = await post('/par', {
      ...{ redirect_uri: redirectUri, response_type: 'code', scope: 'openid', authorization_details: details },
    })
    expect([pushed.status, pushed.body['error']]).toEqual([400, 'invalid_authorization_details'])
  })

  it('RA07 refuses a client that did not register the type', async () => {
    const [error] = await refusedAs(JSON.stringify([payment()]), { client_id: 'shop' })
    expect(error).toBe('invalid_authorization_details')
  })

  it('RA08 accepts them from a push, and lists its types in the discovery document', async () => {
    const { status, body } = await post('/par', {
      ...{ redirect_uri: redirectUri, response_type: 'code', scope: 'openid', code_challenge: challenge },
      ...{ code_challenge_method: 'S256', authorization_details: JSON.stringify([payment()]) },
    })
    expect(status).toBe(201)
    const at = `${server.issuer}/authorize?${new URLSearchParams({ client_id: 'web', request_uri: String(body['request_uri']) })}`
    const told = await redeem(await new UserAgent().authorize(at, person))
    expect(told.body['authorization_details']).toEqual([payment()])
    const metadata = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as Answer
    expect(metadata['authorization_details_types_supported']).toEqual(['payment_initiation'])
  })

  it('RA09 grants nothing when the person denies', async () => {
    const agent = new UserAgent()
    const login = await agent.follow(url(JSON.stringify([payment()])))
    const page = await agent.submit(login.url, await login.response.text(), { ...person })
    const { left } = await agent.submit(page.url, await page.response.text(), { decision: 'deny' })
    expect(left?.searchParams.get('error')).toBe('access_denied')
  })
})
