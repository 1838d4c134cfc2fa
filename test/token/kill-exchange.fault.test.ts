import { randomInt } from 'node:crypto'
import { setTimeout as after } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { verifier } from '../support/forge/mint.js'
import { createClient, createDeployment, type Answer, type Deployment } from '../support/server/processes.js'
import { redirectUri, webClient } from '../support/server/server.js'

// F24: the product is killed in mid-exchange, SIGNET_KILLS times, and started again on the same store.

const kills = Number(process.env['SIGNET_KILLS'] ?? 5)
const codesPerKill = 40
const lanes = 8
const authorization = basic(webClient)

interface Exchange {
  readonly code: string
  readonly grantId: string
  /** Undefined: the answer was lost. */
  readonly answers: (Answer | undefined)[]
}

const isIssued = (answer: Answer | undefined): boolean => answer?.status === 200

describe(`kill -9 in mid-exchange, ${kills} times`, () => {
  let deployment: Deployment
  const client = createClient()
  beforeAll(async () => {
    deployment = await createDeployment()
  })
  afterAll(async () => {
    client.close()
    await deployment[Symbol.asyncDispose]()
  })

  const ask = (origin: string, code: string): Promise<Answer | undefined> => {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
    return client.post(`${origin}/token`, form, { authorization }).catch(() => undefined)
  }
  /** A machine that is busy may say so (503), which burns nothing: an honest client asks again. */
  const redeem = async (origin: string, { code, answers }: Exchange): Promise<void> => {
    let answer = await ask(origin, code)
    for (let tries = 0; answer?.status === 503 && tries < 20; tries++) answer = await ask(origin, code)
    answers.push(answer)
  }

  it(
    'leaves each code to work once or be invalid_grant, and never gives two sets of tokens',
    async () => {
      const exchanges: Exchange[] = []
      let interrupted = 0
      let server = await deployment.start()
      for (let kill = 0; kill < kills; kill++) {
        const minted = await Promise.all(
          Array.from({ length: codesPerKill }, async (): Promise<Exchange> => {
            const { code, grantId } = await deployment.mint.code({}, { ttlSeconds: 600 })
            return { code, grantId, answers: [] }
          }),
        )
        const { origin } = server
        // The moment of the kill is the random thing here: some answers have come, some requests are under way.
        const answersBefore = randomInt(1, codesPerKill - lanes)
        let answered = 0
        let killed: Promise<void> | undefined
        const waiting = [...minted]
        const lane = async (): Promise<void> => {
          for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
            await redeem(origin, next)
            if (++answered === answersBefore) killed = after(randomInt(0, 5)).then(() => server.stop('SIGKILL'))
          }
        }
        await Promise.all(Array.from({ length: lanes }, lane))
        await killed
        if (minted.some(({ answers }) => answers[0] === undefined)) interrupted++

        server = await deployment.start()
        const again = server.origin
        await Promise.all(minted.map((exchange) => redeem(again, exchange)))
        await Promise.all(minted.map((exchange) => redeem(again, exchange)))
        exchanges.push(...minted)
      }

      for (const { answers } of exchanges) {
        const [first, second, third] = answers
        for (const answer of [second, third])
          expect(answer).toMatchObject(
            isIssued(answer) ? { status: 200 } : { status: 400, body: { error: 'invalid_grant' } },
          )
        if (first !== undefined) expect(first.status).toBe(200)
        expect(answers.filter(isIssued).length).toBeLessThanOrEqual(1)
        expect(isIssued(third)).toBe(false)
      }
      const issued = (await deployment.audit(kills))
        .filter((line) => line['event'] === 'token.issued')
        .map((line) => line['grant_id'])
      expect(new Set(issued).size).toBe(issued.length)
      const successful = exchanges.filter(({ answers }) => answers.some(isIssued))
      for (const { grantId } of successful) expect(issued).toContain(grantId)

      // Kills that met nobody, and kills that lost everything, would prove nothing.
      expect(interrupted).toBeGreaterThan(0)
      expect(successful.length).toBeGreaterThan(0)
      const retried = exchanges.filter(({ answers }) => answers[0] === undefined && isIssued(answers[1])).length
      console.log(
        `${kills} kills, ${interrupted} in mid-exchange; ${exchanges.length} codes: ${successful.length} answered once, ` +
          `${retried} of them after the restart, ${exchanges.length - successful.length} lost with the answer, 0 twice`,
      )
    },
    120_000 + kills * 10_000,
  )
})
