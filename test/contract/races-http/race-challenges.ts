import { createDevice, postJson } from '../../support/attestation.js'
import { repeat } from './race.js'

export interface ChallengeScore {
  readonly rounds: number
  /** One attestation, `InvalidChallenge` for everybody else. */
  readonly fair: number
  readonly doubles: number
  readonly withoutWinner: number
  /** Rounds with any third answer. */
  readonly faults: number
}

const attempts = 2

/** Each challenge with its one proof, sent to every process twice, at once; every second one is of a renewal. */
export const raceChallenges = async (
  issuer: string,
  origins: readonly string[],
  rounds: number,
): Promise<ChallengeScore> => {
  const score = { rounds, fair: 0, doubles: 0, withoutWinner: 0, faults: 0 }
  const device = await createDevice(issuer)
  const attestation = await device.attest()
  await repeat(rounds, async (index) => {
    const asked = index % 2 === 0 ? await device.enrol() : await device.reissue(attestation)
    const { challenge } = asked.body
    if (asked.status !== 200) throw new Error(asked.text)
    const body = { challenge, challenge_signature: await device.sign({ challenge }) }
    const everywhere = Array.from({ length: attempts }, () => origins).flat()
    const answers = await Promise.all(everywhere.map((origin) => postJson(`${origin}/enrol/complete`, body)))
    const won = answers.filter(({ status }) => status === 200).length
    const refused = answers.filter(
      (answer) => answer.status === 401 && answer.body['error_code'] === 'InvalidChallenge',
    ).length
    if (won > 1) score.doubles++
    if (won === 0) score.withoutWinner++
    if (won + refused < answers.length) score.faults++
    if (won === 1 && refused === answers.length - 1) score.fair++
  })
  return score
}
