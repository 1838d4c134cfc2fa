import type { Answer, Client } from '../../server/processes.js'
import { newAssertion, signedForm } from '../../clients/signing-client.js'
import { askAll, newScore, repeat, tally, type Score } from './race.js'

export interface AssertionRace {
  readonly client: Client
  readonly issuer: string
  /** Of every process. */
  readonly origins: readonly string[]
}

/** Of everybody who comes after the first. */
const isRefusal = ({ status, body }: Answer): boolean => status === 401 && body['error'] === 'invalid_client'

export const raceAssertions = async ({ client, issuer, origins }: AssertionRace, rounds: number): Promise<Score> => {
  const score = newScore(rounds)
  await repeat(rounds, async () => {
    const form = signedForm(newAssertion(issuer, Date.now()))
    const answers = await askAll(origins, (origin) => client.post(`${origin}/token`, form))
    tally(score, answers, isRefusal)
  })
  return score
}
