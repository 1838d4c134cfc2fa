import { basic } from '../../clients/clients.js'
import { UserAgent } from '../../clients/user-agent.js'
import { challenge } from '../../forge/mint.js'
import { person, redirectUri, webClient } from '../../server/server.js'
import { newScore, repeat, tally, type Race, type Score } from './race.js'

const asked = {
  ...{ redirect_uri: redirectUri, response_type: 'code', scope: 'openid' },
  ...{ code_challenge: challenge, code_challenge_method: 'S256' },
}
const attempts = 2

/** One pushed request, opened at every process at once by somebody who is signed in and has allowed it before. */
export const raceReferences = async ({ client, origins }: Race, rounds: number): Promise<Score> => {
  const [first = ''] = origins
  const agent = new UserAgent()
  await agent.authorize(`${first}/authorize?${new URLSearchParams({ ...asked, client_id: 'web' })}`, person)

  /** 200 stands for a code. */
  const open = async (origin: string, uri: string, from: Readonly<Record<string, string>>) => {
    const query = new URLSearchParams({ client_id: 'web', request_uri: uri })
    const response = await agent.fetch(`${origin}/authorize?${query}`, { headers: from })
    const text = await response.text()
    const isCode = new URL(response.headers.get('location') ?? origin).searchParams.has('code')
    return { status: isCode ? 200 : response.status, text }
  }

  const score = newScore(rounds)
  let round = 0
  await repeat(rounds, async () => {
    // Somewhere else each time: nobody may be refused as often as all the losers are.
    const from = { 'x-forwarded-for': `10.0.${String(++round >> 8)}.${String(round & 255)}` }
    const { body } = await client.post(`${first}/par`, asked, { authorization: basic(webClient), ...from })
    const uri = String(body['request_uri'])
    const all = Array.from({ length: attempts }, () => origins).flat()
    const answers = await Promise.all(all.map((origin) => open(origin, uri, from)))
    tally(score, answers, ({ status, text }) => status === 400 && text.includes('was already used'))
  })
  return score
}
