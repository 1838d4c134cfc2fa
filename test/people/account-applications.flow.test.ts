import { beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { visitAccount } from '../support/server/account-visitor.js'
import { alive, askSilently, openAll, over, redeemLeft, stateOf, withEverything } from '../support/server/opened.js'
import { person, redirectUri, startServer, subject, webClient, type TestServer } from '../support/server/server.js'

type Json = Record<string, unknown>

const first = { ...webClient, client_id: 'first-party', client_name: 'House bank', consent: 'implicit' }
const shop = { ...webClient, client_id: 'shop', client_name: 'Shop', authorization_details_types: ['payment'] }
const payment = { type: 'payment', amount: '12.34', to: 'Merchant A & B' }
const paymentType = {
  type: 'payment',
  title: 'Make a payment',
  schema: {
    type: 'object',
    additionalProperties: false,
    properties: { amount: { type: 'string' }, to: { type: 'string' } },
  },
  show: [
    { label: 'Amount', path: '/amount' },
    { label: 'To', path: '/to' },
  ],
}
const hours = 3_600_000

describe('applications at /account', () => {
  const keep = disposeAfterAll()
  const time = { ahead: 0 }
  let server: TestServer
  beforeAll(async () => {
    server = keep(
      await startServer({
        clock: () => Date.now() + time.ahead,
        configure: (written) => {
          const all = withEverything(written)
          const named = (all['clients'] as Json[]).map((one) =>
            one['client_id'] === 'web' ? { ...one, client_name: 'Web mail' } : one,
          )
          return { ...all, authorization_details_types: [paymentType], clients: [...named, first, shop] }
        },
      }),
    )
  })

  const authorize = (agent: UserAgent, more: Record<string, string> = {}) =>
    agent.authorize(authorizeUrl(server.issuer, more), person)
  const visit = async (agent = new UserAgent()) => {
    const visitor = visitAccount(server.issuer, agent)
    if ((await visitor.page()).html.includes('id="login-submit"')) await visitor.signIn(person)
    return visitor
  }

  it('lists what each may do, in words, and since when; takes it back from one with all that came of it', async () => {
    const opened = await openAll(server.issuer, person)
    const here = await visit(opened.agent)
    const before = await here.section('applications')
    expect(before.rows.toSorted()).toEqual(['Living room TV', 'Web mail'])
    expect(before.text).toContain('See your email address')
    expect(before.text).toContain('Keep this access while you are away')
    expect(before.text).toMatch(/Access since \d+ \w+ \d{4} at \d\d:\d\d UTC/)
    expect(before.text).not.toContain('Use this access at')

    const done = await here.send('applications', { action: 'withdraw', client_id: 'web' })
    expect(done.url.hash).toBe('#applications')
    const after = await here.section('applications')
    expect(after.rows).toEqual(['Living room TV'])
    expect(await stateOf(server.issuer, opened)).toEqual({ ...over, session: 'consent_required' })
    expect(await redeemLeft(server.issuer, opened)).toEqual(['invalid_grant', 200])
    const lines = (await server.audit()).filter(({ by_sid }) => by_sid !== undefined)
    expect(lines.map(({ event, client_id, sub }) => [event, client_id, sub])).toEqual([
      ['consent.withdrawn', 'web', subject],
      ...Array<unknown>(2).fill(['grant.revoked', 'web', subject]),
    ])
    const again = await openAll(server.issuer, person)
    expect(await stateOf(server.issuer, again)).toEqual(alive)
  })

  it('shows a payment as it was approved', async () => {
    const agent = new UserAgent()
    const more = { client_id: 'shop', authorization_details: JSON.stringify([payment]) }
    expect((await authorize(agent, more)).searchParams.get('code')).toEqual(expect.any(String))
    const { text } = await (await visit(agent)).section('applications')
    expect(text).toContain('Make a payment Amount 12.34 To Merchant A & B')
  })

  it('shows an application that may sign in without consent although it has no access now', async () => {
    const agent = new UserAgent()
    await authorize(agent, { client_id: 'shop', scope: 'openid profile' })
    time.ahead += 2 * hours
    const here = await visit(agent)
    const { text } = await here.section('applications')
    expect(text).toMatch(/Shop It doesn’t have to ask you again\./)
    expect(await askSilentlyAs(agent, 'shop')).toBe('code')
    await here.send('applications', { action: 'withdraw', client_id: 'shop' })
    expect(await askSilentlyAs(agent, 'shop')).toBe('consent_required')
    expect((await here.section('applications')).rows).not.toContain('Shop')
  })

  it('warns that an application without consent regains access', async () => {
    const agent = new UserAgent()
    await authorize(agent, { client_id: 'first-party' })
    const here = await visit(agent)
    const { text } = await here.section('applications')
    expect(text).toMatch(/House bank .* When you open it again, it gets access again\./)
    await here.send('applications', { action: 'withdraw', client_id: 'first-party' })
    expect((await here.section('applications')).rows).not.toContain('House bank')
    expect(await askSilently(server.issuer, agent)).not.toBe('login_required')
  })

  const askSilentlyAs = async (agent: UserAgent, client_id: string): Promise<string> => {
    const url = authorizeUrl(server.issuer, { client_id, scope: 'openid profile', prompt: 'none' })
    const location = (await agent.fetch(url)).headers.get('location') ?? ''
    expect(location).toContain(redirectUri)
    return new URL(location).searchParams.get('error') ?? 'code'
  }
})
