import { basic } from '../../clients/clients.js'
import { serviceClient } from '../../server/server.js'
import { createProver } from '../../clients/dpop-proof.js'
import { askAll, newScore, repeat, tally, type Race, type Score } from './race.js'

const form = { grant_type: 'client_credentials' }
const authorization = basic(serviceClient)

/** One proof, sent to every process twice, at once. `issuer` is what proofs are for, whichever process gets them. */
export const raceProofs = async ({ client, origins }: Race, issuer: string, rounds: number): Promise<Score> => {
  const score = newScore(rounds)
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
    tally(score, answers, ({ status, body }) => status === 400 && body['error'] === 'invalid_dpop_proof')
  })
  return score
}
