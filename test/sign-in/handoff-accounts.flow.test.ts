import { createHmac, randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { answerHandoff, createHandedOff, withHandoff, type Tokens } from '../support/clients/handoff.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startServer, type TestServer } from '../support/server/server.js'
import { jsonAnswer, noAnswers, openSite, textAnswer, type Site } from '../support/server/site.js'

// People of whom Signet keeps nothing: a service of the organisation has their claims.

const keep = disposeAfterAll()
const key = randomBytes(32)
const claims = { name: 'Bob Brown', email: 'bob@bank.example' }

let site: Site
let server: TestServer
let people: ReturnType<typeof createHandedOff>
/** The clock of the server stands still, so that what is remembered is as old as a test says. */
let now = Math.floor(Date.now() / 1000)

beforeAll(async () => {
  site = keep(await openSite())
  const accounts = { url: `${site.url}/accounts`, secret: `whsec_${key.toString('base64')}`, cache_secs: 1 }
  server = keep(
    await startServer({
      log: noLog,
      clock: () => now * 1000,
      configure: withHandoff({ accounts }),
    }),
  )
  people = createHandedOff(server.issuer)
})

/** Another one each time, so that nothing is remembered. */
let subject = ''
beforeEach(() => {
  subject = `employee-${randomBytes(6).toString('hex')}`
  site.answer = jsonAnswer({ account: claims })
  site.asked.length = 0
})

/** What Signet has asked of the person. */
const asked = () =>
  site.asked
    .map(({ body }) => JSON.parse(body.toString()) as { type: string; subject: string })
    .filter((question) => question.subject === subject)

/** What is remembered is too old now. */
const later = () => void (now += 2)

const answer = (interaction: string, body: object = { subject }) =>
  answerHandoff(server.admin, interaction, 'sign-in', body)

/** As far as the application. */
const signIn = async (agent = new UserAgent()): Promise<URL> => {
  const { interaction } = await people.begin(agent)
  const { redirect_to: to = '' } = await answer(interaction)
  const { left } = await people.visit(agent, to)
  return left!
}

const redeem = async (back: URL): Promise<Tokens> =>
  (await (await people.token(people.codeForm(back))).json()) as Tokens

const refreshForm = ({ refresh_token }: Tokens) => ({ grant_type: 'refresh_token', refresh_token })

/** They say nothing of an account. */
const junk = {
  'an empty object': jsonAnswer({}),
  'a list': jsonAnswer([]),
  'an account that is a list': jsonAnswer({ account: [] }),
  'an account that is a text': jsonAnswer({ account: 'bob' }),
  'an account that is false': jsonAnswer({ account: false }),
  'no JSON': textAnswer('<html>'),
  nothing: textAnswer(''),
  'the account twice': textAnswer('{"account":null,"account":null}'),
  'too much': textAnswer(`{"account":{"name":"${'x'.repeat(70_000)}"}}`),
}
const outages = ['redirects', 'answers 500', 'answers 204', 'closes the connection', 'closes in the middle'] as const
const broken = { ...junk, ...Object.fromEntries(outages.map((name) => [name, noAnswers[name]!])) }

describe('accounts of a hand-off', () => {
  it('are asked for, signed as Standard Webhooks say, and neither kept nor taken from the answer', async () => {
    const agent = new UserAgent()
    const { interaction } = await people.begin(agent)
    const given = await answer(interaction, { subject, claims: { name: 'Not Bob' } })
    const { left } = await people.visit(agent, given.redirect_to ?? '')
    const { access_token } = await redeem(left!)
    expect(await (await people.userinfo(access_token)).json()).toEqual({ sub: subject, ...claims })
    expect(asked()).toEqual([{ type: 'account', subject }])
    const { headers, body, method, path } = site.asked.at(-1)!
    expect(`${method} ${path} ${headers['content-type']}`).toBe('POST /accounts application/json')
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body.toString()}`
    expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
    expect(headers['webhook-timestamp']).toBe(String(now))
  })

  it('are asked for again after some seconds, and each message has an id of its own', async () => {
    const { access_token } = await redeem(await signIn())
    site.answer = jsonAnswer({ account: { name: 'Bob Black' } })
    const show = async () => (await (await people.userinfo(access_token)).json()) as unknown
    expect(await show()).toMatchObject(claims)
    later()
    expect(await show()).toEqual({ sub: subject, name: 'Bob Black' })
    expect(asked()).toHaveLength(2)
    expect(new Set(site.asked.map(({ headers }) => headers['webhook-id'])).size).toBe(site.asked.length)
  })

  it('[SI80] that are gone get nothing more, and are back when the service says so', async () => {
    const tokens = await redeem(await signIn())
    const agent = new UserAgent()
    const { interaction } = await people.begin(agent)
    site.answer = jsonAnswer({ account: null })
    later()
    expect((await people.userinfo(tokens.access_token)).status).toBe(401)
    const refused = await people.token(refreshForm(tokens))
    expect([refused.status, await refused.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_grant' })])
    expect((await answer(interaction)).status).toBe(400)
    later()
    site.answer = jsonAnswer({ account: claims })
    // The refused answer was not kept.
    const { redirect_to: to = '' } = await answer(interaction)
    expect((await people.visit(agent, to)).left?.searchParams.get('code')).toBeTruthy()
  })

  it('[SI80] are an outage where the service is down or answers junk, which uses up nothing', async () => {
    const [back, tokens, other] = [await signIn(), await redeem(await signIn()), new UserAgent()]
    const { interaction } = await people.begin(other)
    for (const [name, listener] of Object.entries(broken)) {
      later()
      site.answer = listener
      for (const response of [
        await people.userinfo(tokens.access_token),
        await people.token(people.codeForm(back)),
        await people.token(refreshForm(tokens)),
      ]) {
        const wait = response.headers.get('retry-after')
        expect([response.status, wait], name).toEqual([503, expect.stringMatching(/^\d+$/)])
        expect(await response.text()).not.toMatch(/invalid_(?:grant|token)/)
      }
      const given = await answer(interaction)
      expect(given, name).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) })
    }
    site.answer = jsonAnswer({ account: claims })
    expect((await people.userinfo(tokens.access_token)).status).toBe(200)
    expect((await people.token(people.codeForm(back))).status).toBe(200)
    expect((await people.token(refreshForm(tokens))).status).toBe(200)
    const { redirect_to: to = '' } = await answer(interaction)
    expect((await people.visit(other, to)).left?.searchParams.get('code')).toBeTruthy()
  })

  it('that cannot be asked for at the end of a sign-in cost that sign-in alone: the next passes', async () => {
    const agent = new UserAgent()
    const { interaction } = await people.begin(agent)
    const { redirect_to: to = '' } = await answer(interaction)
    later()
    site.answer = noAnswers['answers 500']!
    const page = await people.visit(agent, to)
    expect(page).toMatchObject({ status: 503 })
    site.answer = jsonAnswer({ account: claims })
    const again = await people.visit(agent, to)
    const request = again.left?.searchParams.get('request') ?? ''
    const payload = JSON.parse(Buffer.from(request.split('.')[1] ?? '', 'base64url').toString()) as {
      interaction: string
    }
    const { redirect_to: next = '' } = await answer(payload.interaction)
    expect((await people.visit(agent, next)).left?.searchParams.get('code')).toBeTruthy()
  })
})
