import { beforeAll, describe, expect, it } from 'vitest'
import { adminToken, answerHandoff, createHandedOff, withHandoff, type Tokens } from '../support/clients/handoff.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { createDeployment, type Deployment, type SignetProcess } from '../support/server/processes.js'

// A sign-in that was handed off belongs to no process: its browser, its answer and its end may each be at another one.

const keep = disposeAfterAll()
let deployment: Deployment
let replicas: readonly SignetProcess[]
let admins: readonly string[]

const adminOf = (replica: SignetProcess): string => /"admin":"(http[^"]+)"/.exec(replica.output())?.[1] ?? ''

beforeAll(async () => {
  deployment = keep(await createDeployment(withHandoff()))
  replicas = [await deployment.start(), await deployment.start()]
  admins = replicas.map(adminOf)
})

/** Every request goes to the replica that the one before did not go to. */
const everywhere = () => {
  let turn = 0
  return () => replicas[turn++ % replicas.length]!.origin
}

const subjectOf = async (people: ReturnType<typeof createHandedOff>, back: URL | undefined): Promise<unknown> => {
  const { access_token } = (await (await people.token(people.codeForm(back))).json()) as Tokens
  return ((await (await people.userinfo(access_token)).json()) as { sub: unknown }).sub
}

describe('a hand-off between replicas', () => {
  it.each([0, 1])('begins at one, is answered at the other, and ends at either (%i)', async (first) => {
    const [here, there] = [replicas[first]!, replicas[1 - first]!]
    const agent = new UserAgent()
    const { interaction } = await createHandedOff(deployment.issuer, () => here.origin).begin(agent)
    const body = { subject: `employee-${first}`, claims: { name: 'Bob' } }
    const { status, redirect_to: to = '' } = await answerHandoff(adminOf(there), interaction, 'sign-in', body)
    expect(status).toBe(200)
    const stranger = await createHandedOff(deployment.issuer, () => there.origin).visit(new UserAgent(), to)
    expect(stranger).toMatchObject({ status: 400 })
    const people = createHandedOff(deployment.issuer, everywhere())
    const known = to.replace(/&answer=.*/, '')
    for (let turn = 0; turn < 2; turn++) expect(await people.visit(agent, known)).toMatchObject({ status: 400 })
    const { left } = await people.visit(agent, to)
    expect(await subjectOf(people, left)).toBe(body.subject)
  })

  it('[SI29] takes one of the answers that come to both at once', async () => {
    const people = createHandedOff(deployment.issuer, everywhere())
    for (let round = 0; round < 3; round++) {
      const agent = new UserAgent()
      const { interaction } = await people.begin(agent)
      const subjects = Array.from({ length: 6 }, (_, index) => `employee-${round}-${index}`)
      const answers = await Promise.all(
        subjects.map((subject, index) =>
          answerHandoff(admins[index % 2]!, interaction, 'sign-in', { subject, claims: {} }),
        ),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409])
      for (const admin of admins) expect((await answerHandoff(admin, interaction, 'refuse', {})).status).toBe(409)
      const won = answers.findIndex(({ status }) => status === 200)
      const { left } = await people.visit(agent, answers[won]?.redirect_to ?? '')
      expect(await subjectOf(people, left)).toBe(subjects[won])
      const lines = (await deployment.audit()).filter(
        ({ event, sub }) => event === 'handoff.answered' && subjects.includes(String(sub)),
      )
      expect(lines).toMatchObject([{ sub: subjects[won], method: 'own', outcome: 'passed' }])
    }
  })

  it('[SI28] asks for the token at each', async () => {
    const people = createHandedOff(deployment.issuer, everywhere())
    const { interaction } = await people.begin(new UserAgent())
    const good = { subject: 'employee-9', claims: {} }
    for (const admin of admins)
      for (const authorization of ['', 'Bearer wrong', `Basic ${btoa(`:${adminToken}`)}`])
        expect((await answerHandoff(admin, interaction, 'sign-in', good, { authorization })).status).toBe(401)
    expect((await answerHandoff(admins[1]!, interaction, 'sign-in', good)).status).toBe(200)
  })
})
