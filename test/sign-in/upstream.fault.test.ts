import { authorizationCodeGrant, ClientSecretBasic, fetchUserInfo, refreshTokenGrant } from 'openid-client'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { discover, newAuthorization } from '../support/clients/authorization.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { freePort } from '../support/free-port.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { askSilently } from '../support/server/opened.js'
import { person, startServer, webClient } from '../support/server/server.js'
import { begin } from '../support/server/two-upstreams.js'
import { startUpstream, type UpstreamProvider } from '../support/server/upstream-provider.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

// Two upstream OpenID Providers and a password, and what goes wrong between Signet, them and browsers.

const keep = disposeAfterAll()
const secret = 'a-secret-of-this-client-at-the-provider'
const alice = { sub: 'upstream-alice', claims: { name: 'Alice Adams' } }
const mallory = { sub: 'upstream-mallory', claims: { name: 'Mallory' } }

let issuer: string
/** Of this server's clock before the machine's: milliseconds. */
let ahead = 0
const upstreams = {} as Record<'corp' | 'partner', UpstreamProvider>
type Id = keyof typeof upstreams

const startAs = async (id: Id, port?: number) => {
  const client = { client_id: 'signet', client_secret: secret, redirect_uris: [`${issuer}/sign-in/${id}/callback`] }
  upstreams[id] = await startUpstream(() => [client], port)
  return upstreams[id]
}

beforeAll(async () => {
  const port = await freePort()
  issuer = `http://127.0.0.1:${String(port)}`
  for (const id of ['corp', 'partner'] as const) {
    await startAs(id)
    keep({ [Symbol.asyncDispose]: () => upstreams[id][Symbol.asyncDispose]() })
  }
  const plugin = (id: Id, more: object = {}) => ({
    use: 'plugins/login/oidc',
    options: { id, issuer: upstreams[id].issuer, client_id: 'signet', client_secret: secret, ...more },
  })
  keep(
    await startServer({
      log: noLog,
      clock: () => Date.now() + ahead,
      configure: (written) => ({
        ...written,
        issuer,
        listen: { host: '127.0.0.1', port },
        plugins: [...(written['plugins'] as object[]), plugin('corp', { userinfo: true }), plugin('partner')],
        clients: [{ ...webClient, consent: 'implicit' }],
      }),
    }),
  )
})
beforeEach(() => {
  ahead = 0
  for (const upstream of Object.values(upstreams)) {
    upstream.person = alice
    upstream.instead = () => false
  }
})

/** What Signet asks; the rest is what browsers do. */
const asks = ['GET /.well-known/openid-configuration', 'POST /request', 'POST /token', 'GET /jwks', 'GET /me'] as const
const askedOf = (id: Id) => upstreams[id].asked.filter((one) => asks.some((ask) => ask === one))

/** Goes to a provider and signs in there. Where the browser is sent back to. */
const visit = async (agent: UserAgent, id: Id, more: Record<string, string> = {}): Promise<URL> => {
  const { left } = await new UserAgent().follow(await begin(agent, authorizeUrl(issuer, more), id))
  if (left === undefined) throw new Error('the browser does not come back')
  return left
}

const codeOf = (url: URL | undefined) => url?.searchParams.get('code') ?? ''
const withParameters = (url: URL, more: Record<string, string>): URL => {
  const changed = new URL(url)
  for (const [name, value] of Object.entries(more)) changed.searchParams.set(name, value)
  return changed
}

/** The status of the page that a browser ends at, which nobody is signed in at. */
const statusAt = async (agent: UserAgent, url: URL): Promise<number> => {
  const { response, left } = await agent.follow(url)
  expect([left, await askSilently(issuer, agent)]).toEqual([undefined, 'login_required'])
  return response.status
}

describe('requests to an upstream OpenID Provider', () => {
  it('[SI49] are four at the first sign-in and two at each later one; all else goes without', async () => {
    const client = await discover(issuer, 'web', ClientSecretBasic(webClient.client_secret))
    const agent = new UserAgent()
    const other = await newAuthorization(client)
    const tokens = await authorizationCodeGrant(client, await agent.authorize(other.url, person), other.checks)
    await fetchUserInfo(client, tokens.access_token, tokens.claims()?.sub ?? '')
    await refreshTokenGrant(client, tokens.refresh_token ?? '')
    await new UserAgent().follow(other.url)
    expect([...askedOf('partner'), ...askedOf('corp')]).toEqual([])

    for (const expected of [
      [0, 1, 2, 3],
      [1, 2],
      [1, 2],
    ] as const) {
      const before = askedOf('partner').length
      const { url, checks } = await newAuthorization(client)
      const browser = new UserAgent()
      const { left: back } = await new UserAgent().follow(await begin(browser, url, 'partner'))
      const signedIn = await authorizationCodeGrant(client, (await browser.follow(back!)).left!, checks)
      await fetchUserInfo(client, signedIn.access_token, signedIn.claims()?.sub ?? '')
      await refreshTokenGrant(client, signedIn.refresh_token ?? '')
      expect(await askSilently(issuer, browser)).toBe('code')
      expect(askedOf('partner').slice(before)).toEqual(expected.map((index) => asks[index]))
    }
    expect(askedOf('corp')).toEqual([])
  })
})

describe('an answer of an upstream OpenID Provider', () => {
  it('[SI42] is of no use at the callback of another', async () => {
    const agent = new UserAgent()
    const [atCorp, atPartner] = [await visit(agent, 'corp'), await visit(agent, 'partner')]
    const before = [...askedOf('corp'), ...askedOf('partner')].length
    const moved = new URL(atPartner)
    moved.pathname = atCorp.pathname
    expect(await statusAt(agent, moved)).toBe(400)
    const mixed = { code: codeOf(atPartner), iss: upstreams.partner.issuer }
    expect(await statusAt(agent, withParameters(atCorp, mixed))).toBe(403)
    // Nobody got the code.
    expect([...askedOf('corp'), ...askedOf('partner')].length).toBe(before)
    expect(codeOf((await agent.follow(atPartner)).left)).not.toBe('')
  })

  it('[SI43] with the code or the state of another browser signs nobody in', async () => {
    const [mine, theirs] = [new UserAgent(), new UserAgent()]
    const back = await visit(mine, 'corp')
    upstreams.corp.person = mallory
    const foreign = await visit(theirs, 'corp')
    expect(await statusAt(mine, foreign)).toBe(400)
    expect(await statusAt(mine, withParameters(back, { state: foreign.searchParams.get('state') ?? '' }))).toBe(400)
    // The attempt of this browser, with the code of an attacker: PKCE and nonce are of another attempt.
    expect(await statusAt(mine, withParameters(back, { code: codeOf(foreign) }))).toBe(403)
  })

  it('[SI44] that comes after ten minutes signs nobody in', async () => {
    const agent = new UserAgent()
    const back = await visit(agent, 'corp')
    ahead = 601_000
    expect(await statusAt(agent, back)).toBe(400)
  })

  it('[SI45] finishes the sign-in that it was asked for, and no other of the same browser', async () => {
    const agent = new UserAgent()
    const [one, two, three, four] = [
      await visit(agent, 'corp', { state: 'one' }),
      await visit(agent, 'corp', { state: 'two' }),
      await visit(agent, 'corp', { state: 'three' }),
      await visit(agent, 'corp', { state: 'four' }),
    ]
    expect(await statusAt(agent, withParameters(one, { code: codeOf(two) }))).toBe(403)
    for (const [back, state] of [
      [four, 'four'],
      [three, 'three'],
    ] as const) {
      const { left } = await agent.follow(back)
      expect([left?.searchParams.get('state'), codeOf(left)]).toEqual([state, expect.stringMatching(/./)])
    }
  })

  it('[SI46] whose userinfo is of another person signs nobody in', async () => {
    upstreams.corp.instead = ({ url }, response) => {
      if (url !== '/me') return false
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ sub: mallory.sub }))
      return true
    }
    const agent = new UserAgent()
    expect(await statusAt(agent, await visit(agent, 'corp'))).toBe(403)
  })

  it('[SI46] of another person than the client asked for gives the client nobody', async () => {
    const client = await discover(issuer, 'web', ClientSecretBasic(webClient.client_secret))
    const agent = new UserAgent()
    const { url, checks } = await newAuthorization(client)
    const { left: back } = await new UserAgent().follow(await begin(agent, url, 'corp'))
    const { left } = await agent.follow(back!)
    const { id_token: id_token_hint = '' } = await authorizationCodeGrant(client, left!, checks)
    upstreams.corp.person = mallory
    const again = await visit(agent, 'corp', { id_token_hint, prompt: 'login' })
    const { left: none, response } = await agent.follow(again)
    expect([none, response.status]).toEqual([undefined, 200])
    expect(await response.text()).toContain('login-submit')
  })
})

describe('an upstream OpenID Provider', () => {
  const passwordCode = async () => codeOf(await new UserAgent().authorize(authorizeUrl(issuer), person))
  /** The status of what the button of a method leads to, where that is a page of Signet. */
  const press = async (id: Id, agent = new UserAgent()): Promise<number> => {
    const { url, response } = await agent.follow(authorizeUrl(issuer))
    const pressed = await agent.submit(url, await response.text(), { method: id, begin: '1' })
    expect(pressed.left).toBeUndefined()
    return pressed.response.status
  }

  it('[SI47] that hangs holds nobody but those who sign in there, and those not for long', async () => {
    const [early, agent] = [new UserAgent(), new UserAgent()]
    const back = await visit(early, 'corp')
    upstreams.corp.instead = ({ url }) => url === '/request' || url === '/token'
    const [pressed, came, code, left] = await Promise.all([
      press('corp'),
      statusAt(early, back),
      passwordCode(),
      visit(agent, 'partner').then(async (answer) => (await agent.follow(answer)).left),
    ])
    expect([pressed, came]).toEqual([503, 503])
    expect([code, codeOf(left)]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)])
    upstreams.corp.instead = () => false
    expect(codeOf((await agent.follow(await visit(agent, 'corp', { prompt: 'login' }))).left)).not.toBe('')
  })

  it('[SI48] that is down, and comes back with other keys, costs its own button until then', async () => {
    const agent = new UserAgent()
    const back = await visit(agent, 'corp')
    const { issuer: address } = upstreams.corp
    await upstreams.corp[Symbol.asyncDispose]()
    expect([await press('corp'), await statusAt(agent, back)]).toEqual([503, 503])
    expect(await passwordCode()).not.toBe('')
    await startAs('corp', Number(new URL(address).port))
    expect(codeOf((await agent.follow(await visit(agent, 'corp'))).left)).not.toBe('')
  })
})

it('[SI27] a logout token that is not good, comes twice in one request or to a password ends nothing', async () => {
  const agent = new UserAgent()
  await agent.follow(await visit(agent, 'corp'))
  const post = async (id: string, ...tokens: string[]) => {
    const body = new URLSearchParams(tokens.map((token) => ['logout_token', token]))
    return (await fetch(`${issuer}/sign-in/${id}/backchannel-logout`, { method: 'POST', body })).status
  }
  const iat = Math.floor(Date.now() / 1000)
  const tokenOf = (jti: string, header?: { readonly typ: string }) =>
    upstreams.corp.sign(
      {
        ...{ iss: upstreams.corp.issuer, aud: 'signet', sub: alice.sub, jti, iat, exp: iat + 3600 },
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      },
      header,
    )
  const token = await tokenOf('j')
  const statuses = [
    post('corp', 'junk'),
    post('corp', ''),
    post('corp'),
    post('corp', token, token),
    post('password', token),
  ]
  expect(await Promise.all(statuses)).toEqual([400, 400, 400, 400, 404])
  expect(await post('partner', token)).toBe(400)
  expect(await askSilently(issuer, agent)).toBe('code')
  expect(await post('corp', token)).toBe(200)
  expect(await askSilently(issuer, agent)).toBe('login_required')
  for (const typ of ['logout+jwt', 'JWT'].flatMap(spellingsOf))
    expect(await post('corp', await tokenOf(typ, { typ })), typ).toBe(200)
  expect(await post('corp', await tokenOf('other', { typ: 'text/logout+jwt' }))).toBe(400)
})
