import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { person, publicClient, startServer, webClient, type TestServer } from '../support/server/server.js'

const bob = { username: 'bob', password: 'a long password of bob' }
const local = 'http://localhost:8080/cb'

const clients = [
  { ...webClient, client_id: 'default' },
  { ...webClient, client_id: 'required', consent: 'required' },
  { ...webClient, client_id: 'remembered', consent: 'remembered' },
  { ...webClient, client_id: 'implicit', consent: 'implicit' },
  { ...publicClient, client_id: 'implicit-spa', consent: 'implicit' },
  { ...publicClient, client_id: 'local', redirect_uris: [local] },
]

describe('consent', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      configure: (written) => ({
        ...written,
        clients,
        accounts: [...(written['accounts'] as object[]), { ...bob, sub: 'sub-bob', claims: { name: 'Bob Baker' } }],
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const url = (client_id: string, more: Record<string, string> = {}) =>
    authorizeUrl(server.issuer, { client_id, ...more })

  /** A browser in which the person has signed in, and has allowed nothing. */
  const signedIn = async (): Promise<UserAgent> => {
    const agent = new UserAgent()
    const { response, url: page } = await agent.follow(url('default', { prompt: 'login consent' }))
    await agent.submit(page, await response.text(), { ...person })
    return agent
  }

  /** What comes first: a page, or the answer for the client. */
  const first = async (agent: UserAgent, at: string): Promise<string> => {
    const { response, left } = await agent.follow(at)
    if (left) return left.searchParams.get('error') ?? 'code'
    return (await response.text()).includes('id="consent-allow"') ? 'consent' : 'login'
  }

  it.each([
    ['default', ['consent', 'code', 'consent']],
    ['remembered', ['consent', 'code', 'consent']],
    ['required', ['consent', 'consent', 'consent']],
    ['implicit', ['code', 'code', 'code']],
    ['implicit-spa', ['code', 'code', 'code']],
  ])('%s: the first time, again, and for more', async (client, pages) => {
    const agent = await signedIn()
    const seen = [await first(agent, url(client))]
    await agent.authorize(url(client), person)
    seen.push(await first(agent, url(client)), await first(agent, url(client, { scope: 'openid email' })))
    expect(seen).toEqual(pages)
    expect(await first(agent, url(client, { prompt: 'consent' }))).toBe('consent')
    const silent = pages[1] === 'code' ? 'code' : 'consent_required'
    expect(await first(agent, url(client, { prompt: 'none' }))).toBe(silent)
    expect(await first(agent, url(client, { prompt: 'login' }))).toBe('login')
  })

  it('a public client on this machine needs consent each time', async () => {
    const agent = await signedIn()
    const at = url('local', { redirect_uri: local })
    await agent.authorize(at, person)
    expect(await first(agent, at)).toBe('consent')
  })

  it('an implicit grant is marked in the audit log, and is not remembered', async () => {
    await (await signedIn()).authorize(url('implicit'), person)
    const events = (await server.audit()).filter((line) => line['client_id'] === 'implicit')
    expect(events.at(-1)).toMatchObject({ event: 'authorization.granted', consent: 'implicit' })
    expect(events.some(({ event }) => event === 'consent.given')).toBe(false)
  })

  const otherAccount = (html: string): string =>
    /id="other-account" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''

  it('another person signs in instead, and the request continues', async () => {
    const agent = await signedIn()
    const shown = await (await agent.follow(url('required', { state: 'kept' }))).response.text()
    expect(shown).toContain('Alice Adams')
    const login = await agent.follow(otherAccount(shown))
    const form = await login.response.text()
    expect(form).toContain('id="login-submit"')
    // Nothing has changed by looking at it.
    expect(await first(agent, url('required'))).toBe('consent')
    const asked = await agent.submit(login.url, form, bob)
    const html = await asked.response.text()
    expect(html).toContain('Bob Baker')
    const { left } = await agent.submit(asked.url, html, { decision: 'allow' })
    expect([left?.searchParams.has('code'), left?.searchParams.get('state')]).toEqual([true, 'kept'])
    expect((await server.audit()).at(-1)).toMatchObject({ event: 'authorization.granted', sub: 'sub-bob' })
  })
})
