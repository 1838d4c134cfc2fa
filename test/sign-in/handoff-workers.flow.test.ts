import { beforeAll, describe, expect, it } from 'vitest'
import { answerHandoff, createHandedOff, withHandoff, type Tokens } from '../support/clients/handoff.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { createDeployment, type Deployment, type SignetProcess } from '../support/server/processes.js'
import { workerPids } from '../support/server/workers.js'

// The one admin listener is above the workers: it hands an answer to one of them, whichever has the browser.

const keep = disposeAfterAll()
let deployment: Deployment
let service: SignetProcess
let admin: string

beforeAll(async () => {
  deployment = keep(await createDeployment((written) => ({ ...withHandoff()(written), workers: 2 })))
  service = await deployment.start()
  admin = /"admin":"(http[^"]+)"/.exec(service.output())?.[1] ?? ''
})

/** Over connections of its own, with which the workers take turns. */
const browser = () => new UserAgent({ connection: 'close' })

const good = (subject: string) => ({ subject, claims: { name: 'Bob' } })

describe('a hand-off to workers', () => {
  it('is answered at the one admin listener, once, and nothing else is', async () => {
    const people = createHandedOff(deployment.issuer)
    for (const subject of ['employee-1', 'employee-2', 'employee-3']) {
      const agent = browser()
      const { interaction } = await people.begin(agent)
      const answer = (...sent: [body: unknown, headers?: Record<string, string>]) =>
        answerHandoff(admin, interaction, 'sign-in', ...sent)
      expect((await answer(good(subject), { authorization: 'Bearer wrong' })).status).toBe(401)
      expect((await answer(good(subject), { origin: 'https://evil.example' })).status).toBe(403)
      for (const junk of ['', '[]', { subject: 'nobody' }, { ...good(subject), admin: true }])
        expect((await answer(junk)).status).toBe(400)
      expect((await answerHandoff(admin, 'x'.repeat(43), 'sign-in', good(subject))).status).toBe(404)
      expect((await answerHandoff(admin, '%2e%2e', 'sign-in', good(subject))).status).toBe(404)
      const answers = await Promise.all([answer(good(subject)), answer(good(subject)), answer(good(subject))])
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
      const { redirect_to: to = '' } = answers.find(({ status }) => status === 200) ?? {}
      for (let turn = 0; turn < 4; turn++)
        expect(await people.visit(agent, to.replace(/&answer=.*/, ''))).toMatchObject({ status: 400 })
      const { left } = await people.visit(agent, to)
      const { access_token } = (await (await people.token(people.codeForm(left))).json()) as Tokens
      expect(await (await people.userinfo(access_token)).json()).toEqual({ sub: subject, name: 'Bob' })
    }
  })

  it('may be refused at that listener', async () => {
    const people = createHandedOff(deployment.issuer)
    const agent = browser()
    const { interaction } = await people.begin(agent)
    const { redirect_to: to = '' } = await answerHandoff(admin, interaction, 'refuse', { reason: 'cancelled' })
    expect(await people.visit(agent, to)).toMatchObject({ html: expect.stringContaining('role="alert"') })
  })

  it('is answered by the other when one is killed', async () => {
    const people = createHandedOff(deployment.issuer)
    const agent = browser()
    const { interaction } = await people.begin(agent)
    process.kill(workerPids(service)[0] ?? 0, 'SIGKILL')
    let to = ''
    // As long as the listener takes to notice.
    const status = async () => {
      const answer = await answerHandoff(admin, interaction, 'sign-in', good('employee-4'))
      to = answer.redirect_to ?? ''
      return answer.status
    }
    await expect.poll(async () => ((await status()) === 503 ? 'again' : to), { timeout: 30_000 }).toMatch(/^http/)
    expect((await people.visit(agent, to)).left?.searchParams.get('code')).toBeTruthy()
  })
})
