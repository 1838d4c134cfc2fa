import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEndSubject, type EndSubject } from '../../core/oauth/subjects/subject-end.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { passwordDouble } from '../support/server/password-double.js'
import { alice, startProvider, type Provider } from '../support/server/authorize-provider.js'

/** Sunday, and half a second: sessions know whole seconds only. */
const half = Date.UTC(2026, 10, 22, 12) + 500

describe('SE05 a sign-in concurrent with the end of sessions and grants', () => {
  let provider: Provider
  let end: EndSubject
  /** Happens after the password was found right, and before the page knows. */
  let meanwhile: () => Promise<void>

  beforeAll(async () => {
    provider = await startProvider({
      methods: passwordDouble(async ({ username }) => {
        await meanwhile()
        return { outcome: 'passed', subject: `sub-${username}`, amr: ['pwd'] }
      }),
      accounts: {
        find: async (subject) => ({ subject, claims: {} }),
      },
    })
    const { stores, time } = provider
    end = createEndSubject({
      revocations: stores.revocations,
      clock: () => time.now,
      lifetimeSeconds: 86_400,
      notifyClients: async () => {},
    })
  })
  afterAll(() => provider.close())

  const silently = async (agent: UserAgent): Promise<string | undefined> => {
    const { left } = await agent.follow(provider.url({ prompt: 'none' }))
    return left?.searchParams.get('error') ?? (left?.searchParams.has('code') ? 'code' : undefined)
  }
  const signIn = async (agent: UserAgent) => {
    const answer = await agent.authorize(provider.url({ prompt: 'login' }), alice)
    return (await provider.codeIn(answer))?.authentication.auth_time
  }

  it('ends the existing session, also in the same second and the same millisecond', async () => {
    for (const offset of [0, 1, 499, 5_000]) {
      provider.time.now = half + 60_000 * offset
      meanwhile = async () => {}
      const agent = new UserAgent()
      await signIn(agent)
      expect(await silently(agent)).toBe('code')
      provider.time.now += offset
      await end('sub-alice')
      expect(await silently(agent)).toBe('login_required')
    }
  })

  it('a sign-in right afterwards survives: its auth_time is the next whole second', async () => {
    provider.time.now = half + 600_000_000
    meanwhile = async () => {}
    await end('sub-alice')
    provider.time.now += 1
    const agent = new UserAgent()
    expect(await signIn(agent)).toBe((half + 600_000_000 + 500) / 1000)
    expect(await silently(agent)).toBe('code')
    provider.time.now += 2_000
    expect(await signIn(agent)).toBe(Math.floor(provider.time.now / 1000))
  })

  it.each([0, 1, 700])('a password that was valid until the change %i ms ago signs nobody in', async (ms) => {
    provider.time.now = half + 700_000_000 + ms * 10_000
    meanwhile = async () => {
      await end('sub-alice')
      provider.time.now += ms
    }
    const agent = new UserAgent()
    const page = await agent.follow(provider.url({ prompt: 'login' }))
    const answer = await agent.submit(page.url, await page.response.text(), { ...alice })
    expect(answer.response.status).toBe(403)
    expect(await answer.response.text()).toContain('Your account changed while you were signing in. Sign in again.')
    expect(agent.cookies.has('signet-session')).toBe(false)
    expect(provider.events.at(-1)).toMatchObject({ event: 'login.refused', reason: 'ended meanwhile' })
    meanwhile = async () => {}
    provider.time.now += 1
    await signIn(agent)
    expect(await silently(agent)).toBe('code')
  })

  it('a password that is valid just before the change is written opens nothing that survives', async () => {
    provider.time.now = half + 800_000_000
    meanwhile = async () => void (provider.time.now += 900)
    const agent = new UserAgent()
    const page = await agent.follow(provider.url({ prompt: 'login' }))
    await agent.submit(page.url, await page.response.text(), { ...alice })
    expect(agent.cookies.has('signet-session')).toBe(true)
    // It was changed 300 ms after the sign-in began, and is known to be only now.
    provider.time.now -= 600
    await end('sub-alice')
    provider.time.now += 600
    expect(await silently(agent)).toBe('login_required')
  })
})
