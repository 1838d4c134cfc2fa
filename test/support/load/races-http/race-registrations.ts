import type { StorageBackend } from '../../../../core/storage/ports.js'
import { issueToken, manage, post, register, bearer } from '../../clients/registration.js'
import { redirectUri } from '../../server/server.js'
import type { Answer } from '../../server/token-server.js'
import { askAll, newScore, repeat, tally, type Score } from './race.js'

export interface RegistrationRace {
  readonly store: StorageBackend
  /** Of every process. */
  readonly origins: readonly string[]
}

const web = { redirect_uris: [redirectUri] }

/** Of everybody who comes after the first. */
const isRefusal = ({ status, body }: Answer): boolean => status === 401 && body['error'] === 'invalid_token'

const asWinner = (answer: Answer): Answer => (answer.status === 201 ? { ...answer, status: 200 } : answer)

/** One initial access token with one use, shown to every process at once. */
export const raceInitialAccessTokens = async ({ store, origins }: RegistrationRace, rounds: number): Promise<Score> => {
  const score = newScore(rounds)
  await repeat(rounds, async () => {
    const token = await issueToken(store, Date.now)
    const answers = await askAll(origins, async (origin) => asWinner(await post(origin, web, bearer(token))))
    tally(score, answers, isRefusal)
  })
  return score
}

/** One registration, changed at every process at once with the same token. */
export const raceChanges = async ({ store, origins }: RegistrationRace, rounds: number): Promise<Score> => {
  const score = newScore(rounds)
  await repeat(rounds, async () => {
    const told = await register(origins[0] ?? '', web, await issueToken(store, Date.now))
    const { client_id } = told
    const answers = await askAll(origins, (origin) =>
      manage('PUT', { ...told, registration_client_uri: `${origin}/register/${client_id}` }, { ...web, client_id }),
    )
    tally(score, answers, isRefusal)
  })
  return score
}
