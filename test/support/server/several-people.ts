import { expect } from 'vitest'
import type { Session } from '../../../core/interaction/session.js'
import type { Sent } from '../clients/authorize-ask.js'
import { UserAgent } from '../clients/user-agent.js'
import { startProvider } from './authorize-provider.js'
import { passwordDouble } from './password-double.js'

export type Name = 'alice' | 'bob' | 'carol' | 'dave' | 'erin' | 'frank'

/** A provider where several people share a browser. Everybody has the same password; it counts reads of sessions, and whose grants were ended. */
export const startSharedBrowser = async () => {
  const ended: string[] = []
  const gone = new Set<string>()
  const methods = passwordDouble(async ({ username, password }) =>
    password === 'right'
      ? { outcome: 'passed', subject: `sub-${username}`, amr: ['pwd'] }
      : { outcome: 'refused', subject: undefined },
  )
  const accounts = {
    find: async (subject: string) =>
      gone.has(subject)
        ? undefined
        : { subject, claims: { name: subject.slice(4).toUpperCase(), email: `${subject.slice(4)}@bank.example` } },
  }
  const provider = await startProvider(
    { methods, accounts },
    async (_, all) => new Map(all.map(({ sid }) => [sid, ended.push(sid)])),
  )
  const reads: string[] = []
  const { sessions } = provider.stores
  const find = sessions.find.bind(sessions)
  sessions.find = (id) => {
    reads.push(id)
    return find(id)
  }

  const signIn = async (agent: UserAgent, name: Name, sent: Sent = { prompt: 'login' }): Promise<URL> =>
    agent.authorize(provider.url(sent), { username: name, password: 'right' })

  /** A browser in which these people have signed in one after another; the last one is current. */
  const browserOf = async (...names: readonly Name[]): Promise<UserAgent> => {
    const agent = new UserAgent()
    for (const name of names) await signIn(agent, name)
    return agent
  }

  /** What a request meets: whose code it got, an error, or the page. */
  const meet = async (agent: UserAgent, sent: Sent = {}) => {
    const { response, url, left } = await agent.follow(provider.url(sent))
    const html = await response.text()
    const page = /\/(select|login|consent)$/.exec(url.pathname)?.[1]
    const code = left?.searchParams.has('code') ? await provider.codeIn(left) : undefined
    const met = code?.subject.slice(4) ?? left?.searchParams.get('error') ?? page
    return { met, url, html, left, code }
  }

  /** The people on a page of choice, in order, with the value that their buttons send. */
  const offered = (html: string): ReadonlyMap<string, string> =>
    new Map(
      [...html.matchAll(/name="account" value="([^"]+)".*?<bdi class="name">([^<]+)/g)].map(
        ([, id = '', name = '']) => [name.toLowerCase(), id],
      ),
    )

  const send = async (agent: UserAgent, page: { url: URL; html: string }, fields: Record<string, string>) => {
    const { response, url, left } = await agent.submit(page.url, page.html, fields)
    const html = await response.text()
    const code = left?.searchParams.has('code') ? await provider.codeIn(left) : undefined
    return { status: response.status, html, url, left, code, subject: code?.subject.slice(4) }
  }

  const choose = async (agent: UserAgent, page: { url: URL; html: string }, name: Name) => {
    const account = offered(page.html).get(name)
    expect(account, `${name} is offered`).toBeDefined()
    return send(agent, page, { account: account ?? '' })
  }

  const sessionsOf = (name: Name): readonly Session[] =>
    sessions.puts
      .map((put) => (JSON.parse(put) as [string, Session])[1])
      .filter(({ subject }) => subject === `sub-${name}`)

  return { ...provider, ended, gone, reads, signIn, browserOf, meet, offered, send, choose, sessionsOf }
}

export type SharedBrowser = Awaited<ReturnType<typeof startSharedBrowser>>
