import { afterAll, beforeAll, expect, it } from 'vitest'
import { webClient } from '../support/server/server.js'
import { basic } from '../support/clients/clients.js'
import { createClient, createDeployment, type Answer, type Deployment } from '../support/server/processes.js'

// A refresh in one process while the grant is revoked in another, on one store: SIGNET_RACE_ROUNDS rounds.

const rounds = Number(process.env['SIGNET_RACE_ROUNDS'] ?? 25)
const client = createClient()

let deployment: Deployment
let origins: readonly [string, string]
beforeAll(async () => {
  deployment = await createDeployment()
  const first = await deployment.start()
  const second = await deployment.start()
  origins = [first.origin, second.origin]
})
afterAll(async () => {
  client.close()
  await deployment[Symbol.asyncDispose]()
})

/** A busy machine may miss the deadline of a request, which is 503 and decides nothing: the caller asks again. */
const decided = async (send: () => Promise<Answer>): Promise<Answer> => {
  for (;;) {
    const answer = await send()
    if (answer.status !== 503) return answer
  }
}

const post = (origin: string, path: string, form: Record<string, string>, clientId: string): Promise<Answer> =>
  decided(() =>
    clientId === 'app'
      ? client.post(`${origin}${path}`, { ...form, client_id: clientId })
      : client.post(`${origin}${path}`, form, { authorization: basic(webClient) }),
  )

const refresh = (origin: string, token: string, clientId: string): Promise<Answer> =>
  post(origin, '/token', { grant_type: 'refresh_token', refresh_token: token }, clientId)

it.each(['app', 'web'])(
  'RV04 revoked while refreshes of %s are in flight: whatever they got is dead at its next use',
  async (clientId) => {
    let issued = 0
    for (let round = 0; round < rounds; round++) {
      const { token } = await deployment.mint.refreshToken({ clientId })
      const [left, right] = round % 2 === 0 ? origins : [origins[1], origins[0]]
      const [first, revoked, second, third] = await Promise.all([
        refresh(left, token, clientId),
        post(right, '/revoke', { token }, clientId),
        refresh(right, token, clientId),
        refresh(left, token, clientId),
      ])
      expect(revoked.status).toBe(200)
      for (const answer of [first, second, third]) {
        if (answer.status !== 200) {
          expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
          continue
        }
        issued++
        const { access_token, refresh_token = token } = answer.body as Record<string, string>
        for (const origin of origins) {
          const userinfo = await decided(() =>
            client.post(`${origin}/userinfo`, { access_token: String(access_token) }),
          )
          expect(userinfo.status).toBe(401)
          expect((await refresh(origin, refresh_token, clientId)).status).toBe(400)
        }
      }
      expect((await refresh(left, token, clientId)).status).toBe(400)
    }
    // A race that the revocation always wins shows nothing.
    expect(issued).toBeGreaterThan(0)
  },
  60_000 + rounds * 1000,
)
