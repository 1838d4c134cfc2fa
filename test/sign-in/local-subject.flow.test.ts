import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { answerHandoff, withHandoff } from '../support/clients/handoff.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { freePort } from '../support/free-port.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { askSilently } from '../support/server/opened.js'
import { createDeployment, type Deployment } from '../support/server/processes.js'
import { person, startServer, subject, webClient } from '../support/server/server.js'
import { startUpstream, type UpstreamProvider } from '../support/server/upstream-provider.js'

// Services outside name the person by a subject that an account of this deployment has.

const keep = disposeAfterAll()
const secret = 'a-secret-of-this-client-at-the-provider'
const claims = { name: 'Mallory' }
const why = 'the subject is an account of this deployment'

let upstream: UpstreamProvider
let deployment: Deployment
let cli: CommandLine
/** Two processes on one store. */
let sites: readonly { readonly origin: string; readonly admin: string }[]

const upstreamPlugin = (id: string, more: object = {}) => ({
  use: 'plugins/login/oidc',
  options: { id, issuer: upstream.issuer, client_id: 'signet', client_secret: secret, subject: 'sub', ...more },
})
const ownPlugin = (id: string, more: object = {}) => ({
  use: 'plugins/login/handoff',
  options: { id, sign_in_url: `https://${id}.bank.example/start`, ...more },
})

beforeAll(async () => {
  const port = await freePort()
  const callbackOf = (id: string) => `http://127.0.0.1:${port}/sign-in/${id}/callback`
  const redirect_uris = ['corp', 'linked'].map(callbackOf)
  upstream = keep(await startUpstream(() => [{ client_id: 'signet', client_secret: secret, redirect_uris }]))
  deployment = keep(
    await createDeployment((written) => {
      const own = withHandoff()({ ...written, issuer: `http://127.0.0.1:${port}` })
      return {
        ...own,
        outbound: { allow_private_addresses: true },
        clients: [{ ...webClient, consent: 'implicit' }],
        plugins: [
          ...(own['plugins'] as object[]),
          ownPlugin('joined', { links_accounts: true }),
          upstreamPlugin('corp'),
          upstreamPlugin('linked', { links_accounts: true }),
        ],
      }
    }),
  )
  const running = [await deployment.start(), await deployment.start()]
  sites = running.map((one) => ({
    origin: one.origin,
    admin: /"admin":"(http[^"]+)"/.exec(one.output())?.[1] ?? '',
  }))
  cli = keep(await openCommandLine())
})

const run = (...args: string[]) =>
  cli.run([...args, '--config', join(deployment.directory, 'signet.yaml')], { input: 'a password of some length' })

/** Follows redirects of the issuer at one of its processes, until a page or somewhere else. */
const follow = async (agent: UserAgent, start: string | URL, at = sites[0]!, init: RequestInit = {}) => {
  let url = new URL(start)
  let response = await agent.fetch(new URL(url.pathname + url.search, at.origin), init)
  for (let location = response.headers.get('location'); location !== null;) {
    url = new URL(location, deployment.issuer)
    if (url.origin !== deployment.issuer) return { left: url, response, url }
    response = await agent.fetch(new URL(url.pathname + url.search, at.origin))
    location = response.headers.get('location')
  }
  return { response, url }
}

const begin = async (agent: UserAgent, method: string, at = sites[0]!): Promise<URL> => {
  const { response, url } = await follow(agent, authorizeUrl(deployment.issuer), at)
  const csrf = /name="csrf" value="([^"]+)"/.exec(await response.text())?.[1] ?? ''
  const body = new URLSearchParams({ csrf, method, begin: '1' })
  const { left } = await follow(agent, url, at, { method: 'POST', body })
  return left!
}

/** What a sign-in comes to, by a service that says who it is. */
const byHandoff = async (method: string, body: { subject: string; claims?: object }, at = sites[0]!) => {
  const agent = new UserAgent()
  const { interaction } = decodeJwt((await begin(agent, method, at)).searchParams.get('request') ?? '')
  const { redirect_to: to = '' } = await answerHandoff(at.admin, interaction, 'sign-in', body)
  await follow(agent, to, at)
  return askSilently(at.origin, agent)
}

const byProvider = async (method: string, sub: string, at = sites[0]!) => {
  const agent = new UserAgent()
  upstream.person = { sub, claims }
  const { left } = await new UserAgent().follow(await begin(agent, method, at))
  await follow(agent, left!, at)
  return askSilently(at.origin, agent)
}

const refusals = async (sub: string) =>
  (await deployment.audit()).filter((line) => line['event'] === 'login.refused' && line['sub'] === sub)

const claimsOf = async (sub: string) => (await run('accounts', 'show', '--sub', sub, '--json')).stdout

describe('a subject of an account here', () => {
  it('[SI83] is signed in by no provider, and by no service that has claims of its own', async () => {
    const before = await claimsOf(subject)
    expect(await byProvider('corp', subject)).toBe('login_required')
    expect(await byHandoff('own', { subject, claims })).toBe('login_required')
    await expect
      .poll(() => refusals(subject))
      .toMatchObject([
        { method: 'corp', reason: why },
        { method: 'own', reason: why },
      ])
    // The account stays as it was.
    expect(await claimsOf(subject)).toBe(before)
    expect(before).not.toContain(claims.name)
    for (const method of ['corp', 'own'])
      expect((await run('accounts', 'list', '--method', method, '--json')).stdout).not.toContain(subject)
  })

  it('is signed in by a service that names the account, and by methods that may link accounts', async () => {
    expect(await byHandoff('own', { subject })).toBe('code')
    expect(await byHandoff('joined', { subject, claims })).toBe('code')
    await run('accounts', 'add', 'carol', '--sub', 'carol-1', '--password-stdin')
    expect(await byProvider('linked', 'carol-1')).toBe('code')
  })

  it('[SI83] that is added later, or disabled, is refused at every process at once', async () => {
    for (const at of sites) expect(await byProvider('corp', 'late-1', at)).toBe('code')
    expect(await run('accounts', 'add', 'late', '--sub', 'late-1', '--password-stdin')).toMatchObject({ code: 0 })
    for (const at of sites) {
      expect(await byProvider('corp', 'late-1', at)).toBe('login_required')
      expect(await byHandoff('own', { subject: 'late-1', claims }, at)).toBe('login_required')
    }
    await run('accounts', 'disable', 'late')
    for (const at of sites) {
      expect(await byProvider('corp', 'late-1', at)).toBe('login_required')
      expect(await byHandoff('own', { subject: 'late-1', claims }, at)).toBe('login_required')
    }
    await run('accounts', 'remove', 'late')
    expect(await byProvider('corp', 'late-1')).toBe('code')
  })

  it('is that of people of the provider otherwise', async () => {
    expect(await byProvider('corp', 'theirs-1')).toBe('code')
    expect(await byHandoff('own', { subject: 'theirs-2', claims })).toBe('code')
  })
})

it('a subject of an account here is confirmed by a second factor elsewhere, after the form has shown whose it is', async () => {
  const server = keep(await startServer({ log: noLog, configure: withHandoff({ after: ['password'] }) }))
  const signIn = async (named: string) => {
    const agent = new UserAgent()
    const { response, url } = await agent.follow(authorizeUrl(server.issuer, { scope: 'openid' }))
    const { left } = await agent.submit(url, await response.text(), { ...person })
    const { interaction } = decodeJwt(left?.searchParams.get('request') ?? '')
    const { redirect_to: to = '' } = await answerHandoff(server.admin, interaction, 'sign-in', {
      subject: named,
      claims,
    })
    await agent.follow(to)
    return agent.cookies.has('signet-session')
  }
  expect(await signIn(subject)).toBe(true)
  expect(await signIn('somebody-else')).toBe(false)
})
