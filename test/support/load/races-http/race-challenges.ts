import { createDevice, postJson } from '../../clients/attestation.js'
import { newScore, repeat, tally, type Score } from './race.js'

/** Each challenge with its one proof, sent to every process so often, at once; every second one is of a renewal. */
export const raceChallenges = async (
  issuer: string,
  origins: readonly string[],
  rounds: number,
  attempts = 2,
): Promise<Score> => {
  const score = newScore(rounds)
  const device = await createDevice(issuer)
  const attestation = await device.attest()
  await repeat(rounds, async (index) => {
    const asked = index % 2 === 0 ? await device.enrol() : await device.reissue(attestation)
    const { challenge } = asked.body
    if (asked.status !== 200) throw new Error(asked.text)
    const body = { challenge, challenge_signature: await device.sign({ challenge }) }
    const everywhere = Array.from({ length: attempts }, () => origins).flat()
    const answers = await Promise.all(everywhere.map((origin) => postJson(`${origin}/enrol/complete`, body)))
    tally(score, answers, ({ status, body }) => status === 401 && body['error_code'] === 'InvalidChallenge')
  })
  return score
}
