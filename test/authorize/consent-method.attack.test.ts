import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ConsentAttempt, ConsentResult } from '../../core/interaction/consent-method.js'
import { Unavailable } from '../../core/unavailable.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { expectErrorPage } from '../support/server/authorize-pages.js'
import { alice, startProvider, type Provider } from '../support/server/authorize-provider.js'

// A plugin asks for consent elsewhere. It is a double: what it says is not what a plugin of ours would say.

const elsewhere = 'https://consent.bank.example/ask'
const begun: ConsentAttempt[] = []
let answer: () => ConsentResult
let broken: (() => Error) | undefined
let provider: Provider

beforeAll(async () => {
  provider = await startProvider({
    consentMethod: {
      id: 'double',
      async begin(attempt) {
        begun.push(attempt)
        if (broken !== undefined) throw broken()
        return elsewhere
      },
      async finish() {
        if (broken !== undefined) throw broken()
        return answer()
      },
    },
  })
})
afterAll(() => provider.close())
beforeEach(() => {
  broken = undefined
  answer = () => ({ outcome: 'allowed', scope: ['openid'], claims: [], authorizationDetails: [] })
})

const open = async (agent = new UserAgent()) => {
  const left = await agent.authorize(provider.url({ scope: 'openid profile', prompt: 'consent' }), alice)
  expect(left.href).toBe(elsewhere)
  return { agent, attempt: begun.at(-1)! }
}

it('grants what the method allows, and asks it for what the client requests', async () => {
  const { agent, attempt } = await open()
  expect(attempt).toMatchObject({
    subject: 'sub-alice',
    request: { clientId: 'web', scope: ['openid', 'profile'], claims: [], resource: [], authorizationDetails: [] },
  })
  const { left } = await agent.follow(attempt.finishUrl)
  expect(left?.searchParams.has('code')).toBe(true)
  expect(provider.events).toContainEqual(expect.objectContaining({ event: 'consent.given', scope: 'openid' }))
})

it.each<[string, Partial<Extract<ConsentResult, { outcome: 'allowed' }>>]>([
  ['more scopes', { scope: ['openid', 'email'] }],
  ['no openid', { scope: ['profile'] }],
  ['more claims', { claims: ['email'] }],
  ['details', { authorizationDetails: [{ type: 'payment' }] }],
])('[SI32] a method that grants %s than was requested grants nothing', async (_, more) => {
  const { agent, attempt } = await open()
  const given = provider.events.length
  const right = answer
  answer = () => ({ outcome: 'allowed', scope: ['openid'], claims: [], authorizationDetails: [], ...more })
  await expectErrorPage(await agent.fetch(attempt.finishUrl), 400)
  expect(provider.events.slice(given).map(({ event }) => event)).not.toContain('consent.given')
  answer = right
  expect((await agent.follow(attempt.finishUrl)).left?.searchParams.has('code')).toBe(true)
})

it.each([
  ['throws', () => new TypeError('a bug of the double')],
  ['is down', () => new Unavailable('double', 'no', 'The double is down.')],
])('[SI37] a method that %s is an outage, and the person can try again', async (_, error) => {
  const { agent, attempt } = await open()
  broken = error
  for (const url of [attempt.finishUrl, attempt.finishUrl.replace(/\?.*/, '')]) {
    const down = await agent.fetch(url)
    await expectErrorPage(down, 503)
    expect(down.headers.get('retry-after')).toBe('3')
  }
  broken = undefined
  expect((await agent.follow(attempt.finishUrl)).left?.searchParams.has('code')).toBe(true)
})
