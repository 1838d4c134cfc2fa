import type { Answer, Client } from '../../adversarial/support/processes.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../../support/client-assertion.js'
import { askAll, newScore, repeat, tally, type Score } from './race.js'

const key = newAssertionKey('ES256')

export const signingClient = {
  client_id: 'signer',
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [key.publicJwk] },
  grant_types: ['client_credentials'],
  scope: 'read',
}

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
    const form = {
      grant_type: 'client_credentials',
      client_assertion_type: assertionType,
      client_assertion: signAssertion(
        key,
        { alg: key.alg, kid: key.kid },
        assertionClaims(signingClient.client_id, issuer, Date.now()),
      ),
    }
    const answers = await askAll(origins, (origin) => client.post(`${origin}/token`, form))
    tally(score, answers, isRefusal)
  })
  return score
}
