import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Unavailable } from '../../core/api/index.js'
import { postJson, type Device } from '../support/clients/attestation.js'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'

// On every store, a challenge for evidence is good once, and an outage gives it back to the one who had it.

let server: AttestationServer
let device: Device
beforeAll(async () => {
  server = await startAttestationServer({ evidence: true })
})
beforeEach(async () => {
  server.double.reset()
  device = await server.device()
})
afterAll(() => server[Symbol.asyncDispose]())

const newChallenge = async (): Promise<string> =>
  String((await postJson(`${server.issuer}/challenge`, {})).body['attestation_challenge'])
const chip = (challenge: string) => ({ kind: 'chip', challenge, contains: challenge })
const enrolWith = (evidence: unknown, by = device) => by.enrol({ evidence })

describe('EV08: a challenge', () => {
  it('is accepted once, for any holder', async () => {
    const challenge = await newChallenge()
    expect((await enrolWith(chip(challenge))).status).toBe(200)
    expectNamed(await enrolWith(chip(challenge)), 'EvidenceInvalid')
    expectNamed(await enrolWith(chip(challenge), await server.device({ subject: 'bob' })), 'EvidenceInvalid')
  })
  it('is accepted once of twenty concurrent uses', async () => {
    const challenge = await newChallenge()
    const devices = await Promise.all(Array.from({ length: 20 }, (_, n) => server.device({ subject: `s${String(n)}` })))
    const answers = await Promise.all(devices.map((one) => enrolWith(chip(challenge), one)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers) if (answer.status !== 200) expectNamed(answer, 'EvidenceInvalid')
  })
})

describe('EV11: an outage of the second factor', () => {
  it('during consumption returns the challenge once, only to the same enrolment', async () => {
    const challenge = await newChallenge()
    server.double.consume = () => {
      throw new Unavailable('factor', 'no', 'connection refused')
    }
    for (let times = 0; times < 2; times++) expectNamed(await enrolWith(chip(challenge)), 'Unavailable')
    server.double.consume = () => true
    expectNamed(await enrolWith(chip(challenge), await server.device()), 'EvidenceInvalid')
    expectNamed(await device.enrol({ evidence: chip(challenge), principal_id: 'phone-2' }), 'EvidenceInvalid')
    expect((await enrolWith(chip(challenge))).status).toBe(200)
    expectNamed(await enrolWith(chip(challenge)), 'EvidenceInvalid')
  })
  it('is a refusal, not an outage, if the factor was already used, and the challenge is consumed', async () => {
    const challenge = await newChallenge()
    server.double.consume = () => false
    expectNamed(await enrolWith(chip(challenge)), 'SecondFactorFailed')
    server.double.consume = undefined
    expectNamed(await enrolWith(chip(challenge)), 'EvidenceInvalid')
  })
})
