import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { Device } from '../clients/attestation.js'
import { expectNamed, startAttestationServer, type AttestationServer } from './attestation-server.js'

// Gives the test file that calls it a server, each of its tests a new device, and looks after each whether a good ceremony passes.

export let server: AttestationServer
export let device: Device

export const setUpAttestation = (): void => {
  beforeAll(async () => {
    server = await startAttestationServer()
  })
  beforeEach(async () => {
    device = await server.device()
  })
  afterEach(() => server.expectGood())
  afterAll(() => server[Symbol.asyncDispose]())
}

/** A wrong signature has one attempt, so after each spelling the challenge is gone. */
export const expectBurnt = async (
  make: (challenge: string) => string | Promise<string>,
  name: 'ChallengeSignatureInvalid' | 'BadAlg' = 'ChallengeSignatureInvalid',
): Promise<void> => {
  const challenge = await device.challenge()
  expectNamed(await device.complete(challenge, await make(challenge)), name)
  expectNamed(await device.complete(challenge), 'InvalidChallenge')
}
