import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { alice, startProvider, type Provider } from '../support/server/authorize-provider.js'
import { ceremonyDouble, redirectDouble } from '../support/server/method-doubles.js'
import { passwordDouble } from '../support/server/password-double.js'

const key = ceremonyDouble({ id: 'key', amr: ['hwk'], title: { en: 'Passkey' } })
const corp = redirectDouble({ id: 'corp', amr: ['ext'], title: { en: 'Corporate account' } })

const consent = {
  id: 'consent',
  hangs: true,
  begin: () =>
    consent.hangs ? new Promise<string>(() => undefined) : Promise.resolve('https://elsewhere.example/ask'),
  finish: async () => ({ outcome: 'pending' as const }),
}

let provider: Provider
beforeAll(async () => {
  const password = passwordDouble(async ({ username }) => ({
    outcome: 'passed',
    subject: `sub-${username}`,
    amr: ['pwd'],
  }))
  provider = await startProvider({
    methods: new Map([...password, ['key', key], ['corp', corp]]),
    consentMethod: consent,
  })
})
afterAll(() => provider.close())

describe('SI14 a method that hangs', () => {
  it('is reported at its button, while the others work', async () => {
    key.broken = 'hang'
    const agent = new UserAgent()
    const { response, url } = await agent.follow(provider.url())
    const html = await response.text()
    expect([response.status, html.includes('Signing in with Passkey is currently unavailable.')]).toEqual([200, true])
    key.broken = undefined
    const { left } = await agent.submit(url, html, { method: 'corp', begin: 'yes' })
    const state = left?.searchParams.get('state') ?? ''
    const back = await agent.follow(
      `${provider.issuer}/sign-in/corp/callback?${new URLSearchParams({ state, fail: 'hang' })}`,
    )
    const page = await back.response.text()
    expect(page).toContain('Signing in with Corporate account is currently unavailable.')
    await agent.submit(back.url, page, { ...alice, method: 'password' })
    expect(agent.cookies.has('signet-session')).toBe(true)
  })
})

describe('SI37 a method of consent that hangs', () => {
  it('is an outage within the deadline, and the person can try again', async () => {
    const agent = new UserAgent()
    const { response, url } = await agent.follow(provider.url())
    const page = await agent.submit(url, await response.text(), { ...alice, method: 'password' })
    expect(page.response.status).toBe(503)
    consent.hangs = false
    expect((await agent.follow(page.url)).left?.href).toBe('https://elsewhere.example/ask')
  })
})
