import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  newInstance,
  startAttestedClientServer,
  type AttestedClientServer,
} from '../support/server/attested-client-server.js'
import { expectRefusal } from '../support/server/token-server.js'

// On every store, a proof and a challenge are good once.

let server: AttestedClientServer
beforeAll(async () => {
  server = await startAttestedClientServer()
})
afterEach(() => server.expectGood())
afterAll(() => server[Symbol.asyncDispose]())

describe('client attestation', () => {
  it('AT09 a proof that was used, one after another and at once; the same jti of two instances', async () => {
    const { attestation, proof } = server
    const used = proof()
    expect((await server.ask(attestation(), used)).status).toBe(200)
    await server.expectRefused(attestation(), used)
    for (const jti of [undefined, '', 1, 'x'.repeat(257)]) await server.expectRefused(attestation(), proof({ jti }))
    const once = proof()
    const answers = await Promise.all(Array.from({ length: 10 }, () => server.ask(attestation(), once)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const jti = randomUUID()
    const other = newInstance()
    // A wrong signature uses no id up.
    await server.expectRefused(attestation(), proof({ jti }, {}, other))
    expect((await server.ask(attestation(), proof({ jti }))).status).toBe(200)
    expect((await server.ask(attestation({ cnf: { jwk: other.jwk } }), proof({ jti }, {}, other))).status).toBe(200)
  })

  it('AT10, AT11 no challenge though one is required; one that is not ours, was used, or has expired', async () => {
    await using strict = await startAttestedClientServer({ options: { require_challenge: true } })
    const expectChallenge = async (challenge: unknown): Promise<string> => {
      const answer = await strict.ask(strict.attestation(), strict.proof({ challenge }))
      expectRefusal(answer, 400, 'use_attestation_challenge')
      return answer.headers.get('oauth-client-attestation-challenge') ?? ''
    }
    const fresh = await expectChallenge(undefined)
    expect((await strict.ask(strict.attestation(), strict.proof({ challenge: fresh }))).status).toBe(200)
    await expectChallenge(fresh)
    for (const challenge of ['', 'mine', 1, await server.challenge(), `${await strict.challenge()}x`])
      await expectChallenge(challenge)
    const old = await strict.challenge()
    strict.host.later(301_000)
    await expectChallenge(old)
    // Anyone without the key gets none of these answers.
    await strict.expectRefused(strict.attestation(), strict.proof({ challenge: 'mine' }, {}, newInstance()))
  })

  it('AT11 a challenge that is offered is checked where none is required', async () => {
    const { attestation, proof } = server
    const challenge = await server.challenge()
    expect((await server.ask(attestation(), proof({ challenge }))).status).toBe(200)
    expectRefusal(await server.ask(attestation(), proof({ challenge })), 400, 'use_attestation_challenge')
  })
})
