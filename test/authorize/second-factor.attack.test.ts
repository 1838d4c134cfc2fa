import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { alice, startProvider, type Provider } from '../support/server/authorize-provider.js'
import { ceremonyDouble, codeDouble, redirectDouble } from '../support/server/method-doubles.js'
import { passwordDouble } from '../support/server/password-double.js'

const code = codeDouble({ id: 'code', amr: ['otp'], after: ['password'] })
const key = ceremonyDouble({ id: 'key', amr: ['hwk'] })
const far = redirectDouble({ id: 'far', amr: ['sms'] })
const doubles = [code, key, far]

let provider: Provider

beforeAll(async () => {
  const password = passwordDouble(async ({ username, password: typed }) =>
    typed === alice.password ? { outcome: 'passed', subject: `sub-${username}`, amr: ['pwd'] } : { outcome: 'refused' },
  )
  provider = await startProvider({
    methods: new Map([...password, ...doubles.map((double) => [double.id, double] as const)]),
    acrs: [
      { acr: 'one', methods: ['pwd'] },
      { acr: 'key', methods: ['pwd', 'hwk'] },
      { acr: 'far', methods: ['pwd', 'sms'] },
      { acr: 'none', methods: ['pwd', 'face'] },
    ],
  })
})
afterAll(() => provider.close())
beforeEach(() => {
  code.isMissing = false
  key.isMissing = false
  for (const double of doubles) {
    double.broken = undefined
    double.begun.length = 0
    double.finished.length = 0
  }
})

const hidden = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1] ?? ''
const isSignedIn = (agent: UserAgent): boolean => agent.cookies.has('signet-session')

/** Somebody whose password was right. */
const passFirst = async (sent: Parameters<Provider['url']>[0] = {}, person = alice, agent = new UserAgent()) => {
  const first = await agent.follow(provider.url({ prompt: 'login', ...sent }))
  const { response, url, left } = await agent.submit(first.url, await first.response.text(), {
    ...person,
    method: 'password',
  })
  const html = await response.text()
  return { agent, url, left, status: response.status, html, attempt: hidden(html, 'attempt') }
}

const answer = (
  { agent, url, html, attempt }: Awaited<ReturnType<typeof passFirst>>,
  fields: Record<string, string>,
  method = 'code',
) => agent.submit(url, html, { method, attempt, ...fields })

describe('a method that comes after another', () => {
  it('is asked for after the first, and the session begins afterwards with the amr of both', async () => {
    const first = await passFirst()
    expect(first.html).toContain('name="code"')
    expect(first.html).not.toContain('id="login-methods"')
    expect(isSignedIn(first.agent)).toBe(false)
    expect(provider.events.filter(({ event }) => event === 'login.succeeded')).toEqual([])
    const { response } = await answer(first, { code: '123456' })
    expect(await response.text()).toContain('id="consent-allow"')
    expect(code.finished[0]).toMatchObject({ passed: { subject: 'sub-alice', amr: ['pwd'] }, id: first.attempt })
    expect(provider.events.at(-1)).toMatchObject({
      event: 'login.succeeded',
      method: 'password code',
      amr: ['pwd', 'otp'],
    })
    expect(provider.stores.sessions.puts.at(-1)).toContain('"username":"alice"')
  })

  it('survives a reload of its page, and is skipped for a person who does not have it', async () => {
    const first = await passFirst()
    const { response } = await first.agent.follow(first.url)
    expect(hidden(await response.text(), 'attempt')).toBe(first.attempt)
    code.isMissing = true
    const { agent, html } = await passFirst()
    expect(html).toContain('id="consent-allow"')
    expect(isSignedIn(agent)).toBe(true)
  })

  it('is on no page before the first, and cannot be started alone', async () => {
    const agent = new UserAgent()
    const { url, response } = await agent.follow(provider.url({ prompt: 'login' }))
    const html = await response.text()
    expect(html).not.toContain('value="code"')
    for (const sent of [
      { method: 'code', begin: 'yes' },
      { method: 'code', code: '123456', as: 'sub-alice' },
    ])
      expect((await agent.submit(url, html, sent)).response.status).toBe(403)
    expect([code.begun, code.finished, isSignedIn(agent)]).toEqual([[], [], false])
  })

  it('SI16 is answered once, with the attempt of this person in this browser', async () => {
    const [alices, bobs] = [await passFirst(), await passFirst({}, { ...alice, username: 'bob' })]
    for (const attempt of [bobs.attempt, 'A'.repeat(43), '']) {
      const { response } = await answer({ ...alices, attempt }, { code: '123456' })
      expect(response.status).toBe(403)
    }
    expect(code.finished).toEqual([])
    await Promise.all([1, 2, 3].map(() => answer(alices, { code: '123456' })))
    expect(code.finished).toHaveLength(1)
    const { response } = await answer(alices, { code: '123456' })
    expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('was already used')])
  })

  it('SI17 is accepted only for the person of the first', async () => {
    const first = await passFirst()
    const { response } = await answer(first, { code: '123456', as: 'sub-bob' })
    expect([response.status, isSignedIn(first.agent)]).toEqual([403, false])
    expect(provider.events.at(-1)).toMatchObject({ event: 'login.refused', method: 'code', sub: 'sub-alice' })
  })

  it('SI18 delays guesses at it, also on a new page, until a right one clears the count', async () => {
    const statuses: number[] = []
    for (let guess = 0; guess < 7; guess++) {
      const first = await passFirst({}, { ...alice, username: 'carol' })
      statuses.push((await answer(first, { code: '000000' })).response.status)
    }
    expect(statuses).toEqual([403, 403, 403, 403, 403, 403, 429])
    const locked = await answer(await passFirst({}, { ...alice, username: 'carol' }), { code: '123456' })
    expect([locked.response.status, Number(locked.response.headers.get('retry-after'))]).toEqual([
      429,
      expect.any(Number),
    ])
    provider.time.now += 60_000
    const first = await passFirst({}, { ...alice, username: 'carol' })
    const wrong = await answer(first, { code: '000001' })
    expect(wrong.response.status).toBe(403)
    const html = await wrong.response.text()
    expect(html).toContain('Incorrect code.')
    provider.time.now += 60_000
    const right = await answer({ ...first, html, attempt: hidden(html, 'attempt') }, { code: '123456' })
    expect(right.response.status).toBe(200)
    expect(isSignedIn(first.agent)).toBe(true)
  })

  it('SI14 that fails keeps the person out, with a message', async () => {
    code.broken = 'bug'
    const first = await passFirst()
    expect([first.status, isSignedIn(first.agent)]).toEqual([503, false])
    code.broken = undefined
    const second = await passFirst()
    const { response } = await answer(second, { code: 'outage' })
    const html = await response.text()
    expect([response.status, html.includes('is currently unavailable')]).toEqual([503, true])
    await answer({ ...second, html, attempt: hidden(html, 'attempt') }, { code: '123456' })
    expect(isSignedIn(second.agent)).toBe(true)
  })
})

describe('a method that an acr asks for', () => {
  it('follows the first, on the page and elsewhere', async () => {
    code.isMissing = true
    const first = await passFirst({ acr_values: 'key' })
    expect(first.html).toContain('data-ceremony="key"')
    await answer(first, { answer: `${key.begun.at(-1)?.challenge ?? ''}:sub-alice` }, 'key')
    expect(provider.events.at(-1)).toMatchObject({ method: 'password key', amr: ['pwd', 'hwk'] })
    const away = await passFirst({ acr_values: 'far' })
    expect(away.left?.pathname).toBe('/far')
    const state = away.left?.searchParams.get('state') ?? ''
    await away.agent.fetch(
      `${provider.issuer}/sign-in/far/callback?${new URLSearchParams({ state, sub: 'sub-alice' })}`,
    )
    expect(provider.events.at(-1)).toMatchObject({ method: 'password far', amr: ['pwd', 'sms'] })
  })

  it('is not asked for if it is not available, and the client gets an error for an essential one', async () => {
    code.isMissing = true
    expect((await passFirst({ acr_values: 'none' })).html).toContain('id="consent-allow"')
    key.isMissing = true
    const claims = JSON.stringify({ id_token: { acr: { essential: true, value: 'key' } } })
    const { left } = await passFirst({ claims })
    expect(left?.searchParams.get('error')).toBe('unmet_authentication_requirements')
  })
})

describe('a single method that is elsewhere', () => {
  const only = redirectDouble({ id: 'only', amr: ['ext'], title: { en: 'The bank' } })
  let alone: Provider
  beforeAll(async () => {
    alone = await startProvider({ methods: new Map([['only', only]]) })
  })
  afterAll(() => alone.close())
  beforeEach(() => {
    only.broken = undefined
  })

  const callback = (agent: UserAgent, left: URL | undefined, query: Record<string, string>) => {
    const state = left?.searchParams.get('state') ?? ''
    return agent.follow(`${alone.issuer}/sign-in/only/callback?${new URLSearchParams({ state, ...query })}`)
  }

  it('has no page: the browser is redirected at once', async () => {
    const agent = new UserAgent()
    const { left } = await agent.follow(alone.url())
    expect(left?.pathname).toBe('/only')
    const { response } = await callback(agent, left, { sub: 'sub-alice' })
    expect(await response.text()).toContain('id="consent-allow"')
  })

  it('SI19 returns with an error to the page, without a redirect loop', async () => {
    const agent = new UserAgent()
    const { left } = await agent.follow(alone.url())
    const { response, url, left: again } = await callback(agent, left, {})
    const html = await response.text()
    expect([again, html.includes('Signing in with The bank did not work. Try again.')]).toEqual([undefined, true])
    expect((await agent.submit(url, html, { method: 'only', begin: 'yes' })).left?.pathname).toBe('/only')
    only.broken = 'outage'
    const down = await new UserAgent().follow(alone.url())
    expect([down.left, down.response.status]).toEqual([undefined, 503])
    expect(await down.response.text()).toContain('Signing in with The bank is currently unavailable.')
  })
})
