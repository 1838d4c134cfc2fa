import { describe, expect, it } from 'vitest'
import { hashOpaqueToken } from '../../core/opaque-token.js'
import { UserAgent } from '../support/clients/user-agent.js'
import type { Sent } from '../support/clients/authorize-ask.js'
import { alice, bob, callback, challenge, startProvider } from '../support/server/authorize-provider.js'
import { meet, provider, seconds, setUpProvider } from '../support/server/authorize-set-up.js'

setUpProvider()

describe('consent', () => {
  it('is remembered and accumulates', async () => {
    const fresh = await startProvider()
    try {
      const agent = new UserAgent()
      const met = async (sent: Sent) => {
        const { left } = await agent.follow(fresh.url({ ...sent, prompt: 'none' }))
        return left?.searchParams.get('error') ?? 'code'
      }
      const claims = '{"userinfo":{"nickname":null}}'
      await agent.authorize(fresh.url({ scope: 'openid email' }), alice)
      expect(await met({ scope: 'openid email' })).toBe('code')
      expect(await met({ scope: 'openid' })).toBe('code')
      for (const more of [
        { scope: 'openid profile' },
        { scope: 'openid email offline_access' },
        { resource: 'https://api.example/' },
        { claims },
        { client_id: 'second' },
      ]) {
        expect(await met(more)).toBe('consent_required')
        await agent.authorize(fresh.url(more), alice)
        expect(await met(more)).toBe('code')
      }
      const all = { scope: 'openid email profile offline_access', resource: 'https://api.example/', claims }
      expect(await met(all)).toBe('code')
      await agent.authorize(fresh.url({ prompt: 'login' }), bob)
      expect(await met({ scope: 'openid email' })).toBe('consent_required')
    } finally {
      await fresh.close()
    }
  })

  it('is asked for each time if any program could pose as the client', async () => {
    const agent = await provider.signedIn()
    for (const redirect_uri of ['http://127.0.0.1:4000/cb', 'com.example.app:/cb']) {
      const sent = { client_id: 'native', redirect_uri }
      await agent.authorize(provider.url(sent), alice).catch(() => undefined)
      expect(await meet(agent, sent)).toBe('consent')
      expect(await meet(agent, { ...sent, prompt: 'none' })).toBe('consent_required')
    }
    const spa = { client_id: 'spa' }
    await agent.authorize(provider.url(spa), alice)
    expect(await meet(agent, spa)).toBe('code')
  })
})

describe('the code', () => {
  it('represents everything that was requested, shown and proved', async () => {
    const sent = {
      scope: 'openid email offline_access',
      resource: ['https://api.example/', 'urn:example:ledger'],
      claims: '{"id_token":{"email":{"essential":true}},"userinfo":{"name":null}}',
      prompt: 'login',
    }
    const before = provider.events.length
    const answer = await new UserAgent().authorize(provider.url(sent), alice)
    expect(answer.href.startsWith(`${callback}?code=`)).toBe(true)
    expect([...answer.searchParams.keys()]).toEqual(['code', 'state', 'iss'])
    const code = answer.searchParams.get('code') ?? ''
    expect(code).toMatch(/^[\w-]{43}$/)
    const record = await provider.codeIn(answer)
    expect(record).toEqual({
      grantId: expect.stringMatching(/^[\w-]{31}$/) as string,
      clientId: 'web',
      subject: 'sub-alice',
      scope: ['openid', 'email', 'offline_access'],
      resource: ['https://api.example/', 'urn:example:ledger'],
      authentication: {
        auth_time: seconds(),
        amr: ['pwd'],
        nonce: 'n0nce',
        sid: expect.stringMatching(/^[\w-]{43}$/) as string,
      },
      requestedClaims: { id_token: { email: { essential: true } }, userinfo: { name: null } },
      redirectUri: callback,
      redirectUriSent: true,
      codeChallenge: challenge,
    })
    const events = provider.events.slice(before)
    expect(events.map(({ event }) => event)).toEqual(['login.succeeded', 'consent.given', 'authorization.granted'])
    expect(events.at(-1)).toMatchObject({ client_id: 'web', sub: 'sub-alice', grant_id: record?.grantId })
    expect(JSON.stringify(events)).not.toContain(code)
    provider.time.now += 60_000
    expect(await provider.codeIn(answer)).toBeUndefined()
  })

  it('is never stored in the clear, nor is the session', async () => {
    const agent = await provider.signedIn()
    const session = agent.cookies.get('signet-session')?.value ?? ''
    const { sessions, codes, interactions } = provider.stores
    expect(sessions.puts.join()).toContain(hashOpaqueToken(session))
    for (const store of [sessions, codes, interactions]) expect(store.puts.join()).not.toContain(session)
    const browser = agent.cookies.get('signet-browser')?.value ?? ''
    expect(interactions.puts.join()).not.toContain(browser)
  })

  it('names the session by the same sid until another person signs in', async () => {
    const agent = new UserAgent()
    const sid = async (person: typeof alice) =>
      (await provider.codeIn(await agent.authorize(provider.url({ prompt: 'login' }), person)))?.authentication.sid
    const first = await sid(alice)
    expect(await sid(alice)).toBe(first)
    expect(await sid(bob)).not.toBe(first)
  })

  it('is not issued when it cannot be recorded', async () => {
    const down = { audit: false }
    const { Unavailable } = await import('../../core/unavailable.js')
    const fresh = await startProvider({
      audit: {
        record: async () => {
          if (down.audit) throw new Unavailable('audit', 'no', 'disk full')
        },
      },
    })
    try {
      const agent = new UserAgent()
      await agent.authorize(fresh.url(), alice)
      down.audit = true
      const response = await agent.fetch(fresh.url())
      expect(response.status).toBe(503)
      expect(response.headers.get('location')).toBeNull()
      down.audit = false
      expect((await agent.fetch(fresh.url())).headers.get('location')).toContain('code=')
    } finally {
      await fresh.close()
    }
  })

  it('is delivered by form_post after a sign-in, from a page loaded with GET', async () => {
    const agent = new UserAgent()
    const { url, response } = await agent.follow(provider.url({ response_mode: 'form_post' }))
    const done = await agent.submit(url, await response.text(), { ...alice })
    const html = await done.response.text()
    expect(done.response.status).toBe(200)
    expect(html).toContain(`action="${callback}"`)
    for (const name of ['code', 'state', 'iss']) expect(html).toContain(`name="${name}" value="`)
  })
})
