import { basic } from '../../adversarial/support/clients.js'
import { serviceClient } from '../../support/server.js'
import { createProver } from '../../support/dpop-proof.js'
import { askAll, repeat, type Race } from './race.js'

export interface ProofScore {
  readonly rounds: number
  /** One token, `invalid_dpop_proof` for everybody else. */
  readonly fair: number
  readonly doubles: number
  readonly withoutWinner: number
  /** Rounds with any third answer. */
  readonly faults: number
}

const form = { grant_type: 'client_credentials' }
const authorization = basic(serviceClient)

/** One proof, sent to every process twice, at once. `issuer` is what proofs are for, whichever process gets them. */
export const raceProofs = async ({ client, origins }: Race, issuer: string, rounds: number): Promise<ProofScore> => {
  const score = { rounds, fair: 0, doubles: 0, withoutWinner: 0, faults: 0 }
  const prover = createProver()
  const url = `${issuer}/token`
  const nonceOf = async (origin: string): Promise<string | undefined> => {
    const response = await fetch(`${origin}/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { authorization, dpop: prover.proof(url, undefined) },
    })
    return response.headers.get('dpop-nonce') ?? undefined
  }
  // A nonce of one process is as good at every other.
  const freshness = 100
  let nonce = nonceOf(origins[0] ?? '')
  await repeat(rounds, async (index) => {
    if (index % freshness === 0) nonce = nonceOf(origins[(index / freshness) % origins.length] ?? '')
    const dpop = prover.proof(url, await nonce)
    const answers = await askAll(origins, (origin) => client.post(`${origin}/token`, form, { authorization, dpop }))
    const won = answers.filter(({ status }) => status === 200).length
    const refused = answers.filter(
      ({ status, body }) => status === 400 && body['error'] === 'invalid_dpop_proof',
    ).length
    if (won > 1) score.doubles++
    if (won === 0) score.withoutWinner++
    if (won + refused < answers.length) score.faults++
    if (won === 1 && refused === answers.length - 1) score.fair++
  })
  return score
}
