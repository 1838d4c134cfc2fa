import { beforeAll, describe, expect, it } from 'vitest'
import { createClientDirectory } from '../../core/oauth/clients/client-directory.js'
import { UserAgent } from '../support/clients/user-agent.js'
import {
  csrfIn,
  expectErrorPage,
  post,
  sessionCookie,
  walking,
  type Walking,
} from '../support/server/authorize-pages.js'
import { alice, callback, startProvider, webClient } from '../support/server/authorize-provider.js'
import { provider, setUpProvider } from '../support/server/authorize-set-up.js'

setUpProvider()

let at: Walking
beforeAll(async () => {
  at = walking(provider)
  await provider.signedIn()
})

describe('interactions', () => {
  it('SI02 an interaction that is opened in another browser is refused', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.open(agent)
    const stranger = new UserAgent()
    await at.open(stranger)
    for (const other of [stranger, new UserAgent()]) {
      await expectErrorPage(await other.fetch(url), 400)
      await expectErrorPage(await post(other, url, { csrf: csrfIn(html), ...alice }), 400)
      await expectErrorPage(await other.fetch(url.href.replace('/login', '/consent')), 400)
    }
    expect((await agent.submit(url, html, { ...alice })).left?.searchParams.has('code')).toBe(true)
  })

  it('tells a browser without cookies to allow them', async () => {
    const { url } = await at.open(new UserAgent())
    const stranger = new UserAgent()
    await at.open(stranger)
    const told = async (agent: UserAgent) => (await agent.fetch(url)).text()
    expect(await told(new UserAgent())).toContain('Allow cookies for this site, then start again from the application.')
    expect(await told(stranger)).toContain('belongs to another browser. Start again from the application.')
  })

  it('an unknown, malformed or expired one is refused', async () => {
    const agent = new UserAgent()
    const { url } = await at.open(agent)
    for (const id of ['A'.repeat(43), 'x', '__proto__', 'x'.repeat(44)])
      await expectErrorPage(await agent.fetch(`${provider.issuer}/interaction/${id}/login`), 400)
    provider.time.now += 600_000
    await expectErrorPage(await agent.fetch(url), 400)
    await at.expectGood()
  })

  it('SI05 cookies that are tampered with, unknown or repeated are ignored', async () => {
    const agent = await provider.signedIn()
    const session = sessionCookie(agent) ?? ''
    const browser = agent.cookies.get('signet-browser')?.value ?? ''
    const flipped = `${session.slice(0, -1)}${session.endsWith('A') ? 'E' : 'A'}`
    for (const cookie of [
      `signet-session=${flipped}`,
      `signet-session=${session}x`,
      'signet-session=%00',
      'signet-session=',
      'signet-session=__proto__',
      `signet-session=${session}; signet-session=${flipped}`,
      `SIGNET-SESSION=${session}`,
    ]) {
      const response = await fetch(provider.url(), { headers: { cookie }, redirect: 'manual' })
      expect(response.status).toBe(303)
      expect(response.headers.get('location')).toContain('/interaction/')
      expect(response.headers.getSetCookie()).toHaveLength(1)
    }
    const cookie = `signet-browser=${browser}; signet-session=${session}`
    const response = await fetch(provider.url(), { headers: { cookie }, redirect: 'manual' })
    expect(response.headers.get('location')).toContain('code=')
  })

  it('SI06 100 parallel logins in one browser leave three cookies, and each can be finished', async () => {
    const agent = new UserAgent()
    await at.open(agent)
    const opened = []
    for (let i = 0; i < 100; i++) opened.push(await at.open(agent, { state: `s${i}` }))
    expect([...agent.cookies.keys()]).toEqual(['signet-browser'])
    const last = opened.at(-1)
    if (last === undefined) throw new Error('nothing was opened')
    await agent.submit(last.url, last.html, { ...alice })
    for (const [i, { url }] of opened.slice(0, 3).entries()) {
      const { left } = await agent.follow(url)
      expect(left?.searchParams.get('state')).toBe(`s${i}`)
      expect(left?.searchParams.has('code')).toBe(true)
    }
    expect([...agent.cookies.keys()].sort()).toEqual(['signet-browser', 'signet-known-browser', 'signet-session'])
  })

  it('yields one code, however often it is answered', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.openConsent(agent)
    const fields = { csrf: csrfIn(html), decision: 'allow' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(agent, url, fields)))
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(7)
    await expectErrorPage(await post(agent, url, { ...fields, decision: 'deny' }), 400)
    await at.expectGood()
  })

  it('is refused when the client was disabled in the meantime', async () => {
    const shut = new Set<string>()
    const other = await startProvider({
      clients: createClientDirectory([], {
        find: async (id) => (id === 'web' ? { ...webClient, disabled: shut.has(id) } : undefined),
      }),
    })
    try {
      const agent = new UserAgent()
      const { response, url } = await agent.follow(other.url())
      const html = await response.text()
      shut.add('web')
      await expectErrorPage(await post(agent, url, { csrf: csrfIn(html), ...alice }), 400)
      shut.clear()
      expect((await post(agent, url, { csrf: csrfIn(html), ...alice })).status).toBe(303)
    } finally {
      await other.close()
    }
  })

  it('an outage is 503 and consumes nothing', async () => {
    const agent = new UserAgent()
    const { url, html } = await at.openConsent(agent)
    const fields = { csrf: csrfIn(html), decision: 'allow' }
    for (const store of [provider.stores.codes, provider.stores.interactions, provider.stores.sessions]) {
      store.down = true
      const response = await post(agent, url, fields)
      store.down = false
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).not.toBeNull()
    }
    const response = await post(agent, url, fields)
    expect(response.headers.get('location')).toContain(`${callback}?code=`)
  })
})
