import { basic } from '../../clients/clients.js'
import { verifier, type Mint } from '../../forge/mint.js'
import type { Answer, Client } from '../../server/processes.js'
import { redirectUri, webClient } from '../../server/server.js'

export interface Race {
  readonly client: Client
  readonly mint: Mint
  /** Of every process. */
  readonly origins: readonly string[]
}

/** Of rounds that one may win. */
export interface Score {
  readonly rounds: number
  /** One was served, and everybody else was refused in the one way that is right. */
  fair: number
  doubles: number
  withoutWinner: number
  /** Rounds with any third answer. */
  faults: number
}

export interface CodeScore extends Score {
  /** Rounds after which the winner's tokens were neither all alive nor all dead. */
  halfRevoked: number
}

export interface RefreshScore {
  readonly rounds: number
  /** Everybody got one and the same successor, and it works. */
  readonly fair: number
  readonly doubles: number
  /** Rounds in which an honest caller got `invalid_grant`. */
  readonly refused: number
  /** Rounds after which the family was dead. */
  readonly lost: number
  readonly faults: number
}

const inFlight = 4

/** Runs `round` often enough, a few rounds beside each other. */
export const repeat = async (rounds: number, round: (index: number) => Promise<void>): Promise<void> => {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < rounds) await round(next++)
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
}

export const newScore = (rounds: number): Score => ({ rounds, fair: 0, doubles: 0, withoutWinner: 0, faults: 0 })

/** Counts a round; those who were not served have to be refused as `isRefusal` says. */
export const tally = <A extends { readonly status: number }>(
  score: Score,
  answers: readonly A[],
  isRefusal: (answer: A) => boolean,
): void => {
  const won = answers.filter(({ status }) => status === 200).length
  const refused = answers.filter(isRefusal).length
  if (won > 1) score.doubles++
  if (won === 0) score.withoutWinner++
  if (won + refused < answers.length) score.faults++
  if (won === 1 && refused === answers.length - 1) score.fair++
}

const isRefusal = ({ status, body }: Answer): boolean => status === 400 && body['error'] === 'invalid_grant'

const attempts = 2

/** Every process is asked twice, all at once. */
export const askAll = <A>(origins: readonly string[], ask: (origin: string) => Promise<A>): Promise<A[]> =>
  Promise.all(
    Array.from({ length: attempts }, () => origins)
      .flat()
      .map(ask),
  )

const authorization = basic(webClient)

export const raceCodes = async ({ client, mint, origins }: Race, rounds: number): Promise<CodeScore> => {
  const score: CodeScore = { ...newScore(rounds), halfRevoked: 0 }
  await repeat(rounds, async (index) => {
    const { code } = await mint.code()
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
    const answers = await askAll(origins, (origin) => client.post(`${origin}/token`, form, { authorization }))
    tally(score, answers, isRefusal)
    const won = answers.find(({ status }) => status === 200)
    if (index % 10 !== 0 || won === undefined) return
    const { access_token, refresh_token } = won.body as Record<string, string>
    const [origin = ''] = origins
    const [userinfo, refresh] = await Promise.all([
      client.post(`${origin}/userinfo`, { access_token: access_token ?? '' }),
      client.post(
        `${origin}/token`,
        { grant_type: 'refresh_token', refresh_token: refresh_token ?? '' },
        { authorization },
      ),
    ])
    if ((userinfo.status === 200) !== (refresh.status === 200)) score.halfRevoked++
  })
  return score
}

export const raceRefreshTokens = async ({ client, mint, origins }: Race, rounds: number): Promise<RefreshScore> => {
  const score = { rounds, fair: 0, doubles: 0, refused: 0, lost: 0, faults: 0 }
  await repeat(rounds, async (index) => {
    const { token } = await mint.refreshToken()
    const ask = (origin: string, refresh_token: string) =>
      client.post(`${origin}/token`, { grant_type: 'refresh_token', client_id: 'app', refresh_token })
    const answers = await askAll(origins, (origin) => ask(origin, token))
    const won = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(isRefusal).length
    const successors = new Set(won.map(({ body }) => String(body['refresh_token'])))
    if (successors.size > 1) score.doubles++
    if (refused > 0) score.refused++
    if (won.length + refused < answers.length) score.faults++
    const [successor = ''] = successors
    const alive = (await ask(origins[index % origins.length] ?? '', successor)).status === 200
    if (!alive) score.lost++
    if (won.length === answers.length && successors.size === 1 && alive) score.fair++
  })
  return score
}
