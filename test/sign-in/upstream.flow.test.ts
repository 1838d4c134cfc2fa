import { randomUUID } from 'node:crypto'
import { ClientSecretBasic, authorizationCodeGrant, fetchUserInfo, type Configuration } from 'openid-client'
import { beforeAll, describe, expect, it } from 'vitest'
import { discover, newAuthorization } from '../support/clients/authorization.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { askSilently } from '../support/server/opened.js'
import { webClient } from '../support/server/server.js'
import { begin, known, openTwoUpstreams, type Upstream } from '../support/server/two-upstreams.js'

type Parameters = Readonly<Record<string, string>>

const keep = disposeAfterAll()
let opened: Awaited<ReturnType<typeof openTwoUpstreams>>
let client: Configuration
beforeAll(async () => {
  opened = await openTwoUpstreams(keep)
  client = await discover(opened.server.issuer, 'web', ClientSecretBasic(webClient.client_secret), 'ES256')
})

/** A person's browser: of what one host sets, the other host sees nothing. */
const newBrowser = () => ({ here: new UserAgent(), there: new UserAgent() })
type Browser = ReturnType<typeof newBrowser>

const other = (url: URL): URL => new URL(url.href.replace(opened.server.issuer, opened.there))

const ask = async (asked: Parameters = {}) => {
  const authorization = await newAuthorization(client)
  for (const [name, value] of Object.entries(asked)) authorization.url.searchParams.set(name, value)
  return authorization
}

/** Begins at one replica, and comes back to the other if `isElsewhere`. What the client gets. */
const signIn = async (upstream: Upstream, { here, there }: Browser, asked: Parameters = {}, isElsewhere = false) => {
  const { url, checks } = await ask(asked)
  const at = await begin(here, url, upstream.id)
  const visited = await upstream.visit(at, there)
  const reply = await here.fetch(isElsewhere ? other(visited.back) : visited.back)
  const { left } = await here.follow(reply.headers.get('location') ?? '')
  const tokens = await authorizationCodeGrant(client, left!, checks)
  return { at, asked: visited.asked, tokens, claims: tokens.claims()! }
}

const heard = (sid: unknown) => opened.receiver.claims().filter((claims) => claims['sid'] === sid)

describe.each(['corp', 'bank'] as const)('sign-in at an upstream OpenID Provider (%s)', (id) => {
  const upstream = (): Upstream => opened.upstreams[id]

  it('is asked for by a pushed request of a client with a key, and gives mapped claims, acr and amr', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { at, claims, tokens } = await signIn(upstream(), newBrowser(), { acr_values: '2' })
    expect(at.origin).toBe(upstream().issuer)
    expect([...at.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri'])
    expect(claims).toMatchObject({ acr: '2', amr: ['pwd'] })
    expect(await fetchUserInfo(client, tokens.access_token, claims.sub)).toEqual({ sub: claims.sub, ...known })
    expect(claims.auth_time).toBeGreaterThanOrEqual(before)
    expect(tokens.refresh_token).toBeDefined()
    expect(await opened.server.audit()).toContainEqual(
      expect.objectContaining({
        event: 'request.signed',
        method: id,
        signatures: [expect.objectContaining({ typ: 'client-authentication+jwt', purpose: 'client_authentication' })],
      }),
    )
  })

  it('asks a person who is signed in there again only if the client wants it', async () => {
    const { there } = newBrowser()
    const visits = [{}, {}, { prompt: 'login' }, { max_age: '0' }, { max_age: '1000' }]
    const seen = []
    for (const asked of visits) seen.push(await signIn(upstream(), { here: new UserAgent(), there }, asked))
    expect(seen.map(({ asked }) => asked)).toEqual([true, false, true, true, false])
    expect(new Set(seen.map(({ claims }) => claims.sub)).size).toBe(1)
  })

  it('signs nobody in who refuses there, and leaves the other methods', async () => {
    const { here, there } = newBrowser()
    const { url } = await ask()
    const { back } = await upstream().visit(await begin(here, url, id), there, 'nobody')
    expect(back.searchParams.get('error')).toBe('access_denied')
    const { response } = await here.follow(back)
    expect(response.status).toBe(403)
    const html = await response.text()
    expect(html).toContain('login-submit')
    expect(html).toContain('did not work')
    expect(await askSilently(opened.server.issuer, here)).toBe('login_required')
  })

  it('ends here when the person signs out there, and the clients here hear of it', async () => {
    const browser = newBrowser()
    const { claims } = await signIn(upstream(), browser)
    expect(await askSilently(opened.there, browser.here)).toBe('code')
    await upstream().signOut(browser.there)
    for (const at of [opened.server.issuer, opened.there])
      await expect.poll(() => askSilently(at, browser.here)).toBe('login_required')
    await expect.poll(() => heard(claims['sid'])).toMatchObject([{ sub: claims.sub }])
    const line = { event: 'session.ended', method: id, sub: claims.sub, sid: claims['sid'] }
    await expect.poll(() => opened.server.audit()).toContainEqual(expect.objectContaining(line))
  })

  it('begins at one replica and comes back to the other', async () => {
    const browser = newBrowser()
    const { claims } = await signIn(upstream(), browser, {}, true)
    expect(claims.amr).toEqual(['pwd'])
    for (const at of [opened.server.issuer, opened.there]) expect(await askSilently(at, browser.here)).toBe('code')
  })
})

describe('two replicas, and an upstream OpenID Provider', () => {
  const upstream = (): Upstream => opened.upstreams.corp
  const asked = (what: string) => opened.provider.asked.filter((one) => one === what).length
  const postToken = async (at: string, logout_token: string) => {
    const body = new URLSearchParams({ logout_token })
    return (await fetch(`${at}/sign-in/corp/backchannel-logout`, { method: 'POST', body })).status
  }
  const logoutToken = (iat = Math.floor(Date.now() / 1000)) =>
    opened.provider.sign({
      ...{ iss: opened.provider.issuer, aud: 'signet', sub: 'upstream-alice', jti: randomUUID(), iat, exp: iat + 3600 },
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })

  it('[SI40] take one answer once, although both get it at the same time', async () => {
    const { here, there } = newBrowser()
    const { url } = await ask()
    const { back } = await upstream().visit(await begin(here, url, 'corp'), there)
    const before = asked('POST /token')
    const replies = await Promise.all([back, other(back), back, other(back)].map((to) => here.fetch(to)))
    expect(replies.map(({ status }) => status)).toEqual([303, 303, 303, 303])
    const signedIn = replies.filter(({ headers }) => headers.getSetCookie().join().includes('signet-session'))
    expect([signedIn.length, asked('POST /token') - before]).toEqual([1, 1])
  })

  it('[SI41] accept one logout token once, whichever gets it; later sessions remain', async () => {
    const token = await logoutToken()
    const browser = newBrowser()
    await signIn(upstream(), browser)
    expect(await postToken(opened.there, token)).toBe(200)
    for (const at of [opened.server.issuer, opened.there])
      expect(await askSilently(at, browser.here)).toBe('login_required')
    // In the same second, so that its time alone would not save it.
    await signIn(upstream(), browser)
    for (const at of [opened.server.issuer, opened.there]) expect(await postToken(at, token)).toBe(400)
    expect(await askSilently(opened.there, browser.here)).toBe('code')
    const next = await logoutToken()
    const both = [opened.server.issuer, opened.there]
    const statuses = await Promise.all([...both, ...both, ...both].map((at) => postToken(at, next)))
    expect(statuses.toSorted()).toEqual([200, 400, 400, 400, 400, 400])
    expect(await askSilently(opened.there, browser.here)).toBe('login_required')
  })

  it('[SI41] end nothing that began after an old logout token', async () => {
    const browser = newBrowser()
    await signIn(upstream(), browser)
    expect(await postToken(opened.there, await logoutToken(Math.floor(Date.now() / 1000) - 600))).toBe(200)
    expect(await askSilently(opened.there, browser.here)).toBe('code')
  })
})
