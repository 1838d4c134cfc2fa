import { decodeJwt } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { answerHandoff, createHandedOff, withHandoff } from '../support/clients/handoff.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { person, startServer, webClient, type TestServer } from '../support/server/server.js'

// One browser begins and sends the link to the honest service to somebody else, whose answer must not finish what the first one began.

const keep = disposeAfterAll()
const consentUrl = 'https://consent.bank.example/ask'
const bob = { subject: 'employee-7', claims: { name: 'Bob' }, address: '2001:db8::7' }

let server: TestServer
let people: ReturnType<typeof createHandedOff>

beforeAll(async () => {
  server = keep(
    await startServer({
      log: noLog,
      configure: (written) => ({
        ...withHandoff({ consent_url: consentUrl })(written),
        clients: [webClient, { ...webClient, client_id: 'trusted', consent: 'implicit' }],
      }),
    }),
  )
  people = createHandedOff(server.issuer)
})

const answer = async (interaction: unknown, verb = 'sign-in', body: object = bob): Promise<URL> => {
  const { status, redirect_to: to = '' } = await answerHandoff(server.admin, interaction, verb, body)
  expect(status).toBe(200)
  return new URL(to)
}

const silently = async (agent: UserAgent): Promise<URL | undefined> =>
  (await agent.follow(authorizeUrl(server.issuer, { client_id: 'trusted', prompt: 'none' }))).left

const reasons = async () => (await server.audit()).map(({ reason }) => reason)

/** What is known to the browser that began, and what it can guess: all but the secret of the answer. */
const guesses = (to: URL, other: string): Readonly<Record<string, URL>> => {
  const withAnswer = (value?: string) => {
    const url = new URL(to)
    if (value === undefined) url.searchParams.delete('answer')
    else url.searchParams.set('answer', value)
    return url
  }
  const secret = to.searchParams.get('answer') ?? ''
  const changed = `${secret.startsWith('A') ? 'B' : 'A'}${secret.slice(1)}`
  return {
    'the state alone': withAnswer(),
    'an empty secret': withAnswer(''),
    'the secret of another answer': withAnswer(other),
    'the state as the secret': withAnswer(to.searchParams.get('state') ?? ''),
    'a changed secret': withAnswer(changed),
    'a part of the secret': withAnswer(secret.slice(0, -1)),
    'more than the secret': withAnswer(`${secret}A`),
  }
}

const secretOf = (to: URL): string => to.searchParams.get('answer') ?? ''

describe('a sign-in that was handed off', () => {
  it('[SI81] is finished by no browser but the one that both began it and was at the service', async () => {
    const [attacker, victim] = [new UserAgent(), new UserAgent()]
    const { interaction } = await people.begin(attacker)
    // The victim opens the link. The service has a session of theirs, or signs them in: it answers.
    const to = await answer(interaction)
    expect(secretOf(to)).toMatch(/^[\w-]{43}$/)
    expect((await victim.follow(to)).response.status).toBe(400)
    expect((await silently(victim))?.searchParams.get('error')).toBe('login_required')
    const other = secretOf(await answer((await people.begin(new UserAgent())).interaction))
    for (const [what, url] of Object.entries(guesses(to, other))) {
      const { response } = await attacker.follow(url)
      expect([response.status, await response.text()], what).toEqual([400, expect.stringContaining('another browser')])
      expect((await silently(attacker))?.searchParams.get('error'), what).toBe('login_required')
    }
    expect(await reasons()).toEqual(
      expect.arrayContaining([
        'the browser did not begin this sign-in, or it is over',
        'the secret of the answer is missing',
        'the secret of the answer is wrong',
      ]),
    )
    // Nothing was used up.
    await people.visit(attacker, to)
    expect((await silently(attacker))?.searchParams.has('code')).toBe(true)
  })

  it('[SI81] is not over because its browser came back before there was an answer', async () => {
    const agent = new UserAgent()
    const { interaction } = await people.begin(agent)
    const early = `${server.issuer}/sign-in/own/callback?${new URLSearchParams({ state: interaction, answer: 'x' })}`
    expect((await agent.follow(early)).response.status).toBe(400)
    expect(await reasons()).toContain('the service has not answered')
    await people.visit(agent, await answer(interaction))
    expect((await silently(agent))?.searchParams.has('code')).toBe(true)
  })

  it('[SI81] may be refused by nobody else either', async () => {
    const agent = new UserAgent()
    const { interaction } = await people.begin(agent)
    const to = await answer(interaction, 'refuse', {})
    for (const url of Object.values(guesses(to, secretOf(to).toLowerCase())))
      expect((await agent.follow(url)).response.status).toBe(400)
    expect(await people.visit(agent, to)).toMatchObject({ status: 403 })
  })

  it('[SI29] gets one answer: the same one again is 409, has no address and changes nothing', async () => {
    const agent = new UserAgent()
    const { interaction } = await people.begin(agent)
    const to = await answer(interaction)
    for (const again of [bob, bob, { ...bob, subject: 'employee-8' }]) {
      const second = await answerHandoff(server.admin, interaction, 'sign-in', again)
      expect(second).toMatchObject({ status: 409 })
      expect(second).not.toHaveProperty('redirect_to')
    }
    await people.visit(agent, to)
    expect((await silently(agent))?.searchParams.has('code')).toBe(true)
    expect((await server.audit()).filter(({ event }) => event === 'login.succeeded').at(-1)).toMatchObject({
      ...{ sub: bob.subject, method: 'own', address: '127.0.0.1' },
    })
  })

  it('is in the audit log with the addresses of both browsers, and has a separate id at the service', async () => {
    const asked = await Promise.all([people.begin(new UserAgent()), people.begin(new UserAgent())])
    const ids = asked.map((one) => (one as { jti?: string }).jti)
    expect(ids).toEqual([expect.stringMatching(/^[\w-]{20,}$/), expect.stringMatching(/^[\w-]{20,}$/)])
    expect(ids[0]).not.toBe(ids[1])
    await answer(asked[0].interaction, 'sign-in', { ...bob, subject: 'employee-9' })
    const line = (await server.audit()).find(({ sub }) => sub === 'employee-9')
    // Of an IPv6 address its network, as everywhere in the log.
    const seen = { begun_at: '127.0.0.1', address: '2001:db8:0:0' }
    expect(line).toMatchObject({ event: 'handoff.answered', ...seen })
    const wrong = { ...bob, address: 'nowhere' }
    expect((await answerHandoff(server.admin, asked[1].interaction, 'sign-in', wrong)).status).toBe(400)
  })
})

describe('a consent that was handed off', () => {
  const begin = async () => {
    const agent = new UserAgent()
    await agent.authorize(authorizeUrl(server.issuer, { client_id: 'trusted', scope: 'openid' }), person)
    const { left } = await agent.follow(authorizeUrl(server.issuer, { scope: 'openid profile', prompt: 'consent' }))
    return { agent, interaction: decodeJwt(left?.searchParams.get('request') ?? '')['interaction'] }
  }

  it('[SI82] is finished by no browser that did not bring the secret of the answer', async () => {
    const { agent, interaction } = await begin()
    const to = await answer(interaction, 'consent', { scope: 'openid profile' })
    expect((await new UserAgent().follow(to)).response.status).toBe(400)
    const other = secretOf(await answer((await begin()).interaction, 'consent', { scope: 'openid' }))
    for (const [what, url] of Object.entries(guesses(to, other))) {
      const { response } = await agent.follow(url)
      expect([response.status, await response.text()], what).toEqual([400, expect.stringContaining('another browser')])
    }
    const refused = (await server.audit()).filter(({ event }) => event === 'authorization.refused')
    expect(refused.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['the secret of the answer is missing', 'the secret of the answer is wrong']),
    )
    expect((await agent.follow(to)).left?.searchParams.has('code')).toBe(true)
  })

  it('[SI82] is denied by nobody else either', async () => {
    const { agent, interaction } = await begin()
    const to = await answer(interaction, 'refuse', {})
    for (const url of Object.values(guesses(to, 'x'))) expect((await agent.follow(url)).response.status).toBe(400)
    expect((await agent.follow(to)).left?.searchParams.get('error')).toBe('access_denied')
  })
})
