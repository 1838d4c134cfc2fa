import type { Answer, Client } from '../../adversarial/support/processes.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../../support/client-assertion.js'
import { askAll, repeat } from './race.js'

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

export interface AssertionScore {
  readonly rounds: number
  /** One token, `invalid_client` for everybody else. */
  readonly fair: number
  readonly doubles: number
  readonly withoutWinner: number
  /** Rounds with any third answer. */
  readonly faults: number
}

const isRefusal = ({ status, body }: Answer): boolean => status === 401 && body['error'] === 'invalid_client'

export const raceAssertions = async (
  { client, issuer, origins }: AssertionRace,
  rounds: number,
): Promise<AssertionScore> => {
  const score = { rounds, fair: 0, doubles: 0, withoutWinner: 0, faults: 0 }
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
    const won = answers.filter(({ status }) => status === 200).length
    const refused = answers.filter(isRefusal).length
    if (won > 1) score.doubles++
    if (won === 0) score.withoutWinner++
    if (won + refused < answers.length) score.faults++
    if (won === 1 && refused === answers.length - 1) score.fair++
  })
  return score
}
