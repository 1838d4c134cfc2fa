import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { createMint, type Mint } from '../support/forge/mint.js'
import { createDeployment, type Deployment } from '../support/server/processes.js'
import { createDevice, postJson, productWithDouble, withAttestation } from '../support/clients/attestation.js'
import { withDevices } from '../support/clients/device.js'
import { createFakeClock, type FakeClock } from '../support/fake-clock.js'
import { describeWith } from '../support/services/describe-with.js'
import { signingClient } from '../support/clients/signing-client.js'
import { createClockClients, resultOf, untilCollected } from '../support/load/clock-clients.js'

// F23: two processes of one issuer over one store. The first has the time of the clients, the other has not. All clocks stand
// still, so that a second is one.

describeWith('faketime', 'a process whose clock is off', (library) => {
  let deployment: Deployment
  let clients: ReturnType<typeof createClockClients>
  let store: StorageBackend
  let mint: Mint
  afterEach(async () => {
    clients.close()
    await store[Symbol.asyncDispose]()
    await deployment[Symbol.asyncDispose]()
  })

  const start = async (seconds: number, configure = withDevices, args?: Parameters<Deployment['start']>[0]) => {
    deployment = await createDeployment((written) => ({
      ...configure(written),
      access_token_ttl_secs: 30,
      clients: [...(configure(written)['clients'] as object[]), signingClient],
    }))
    clients = createClockClients(deployment.issuer)
    const [clock, other] = [0, 1].map(() => createFakeClock(library, deployment.directory)) as [FakeClock, FakeClock]
    const begun = Math.floor(Date.now() / 1000) * 1000
    /** Sets all clocks to so many seconds after the beginning. */
    const pass = (later: number): void => {
      const at = begun + later * 1000
      clients.stop(at)
      clock.stop(at)
      other.stop(at + seconds * 1000)
    }
    pass(0)
    store = await openEmbedded({ path: join(deployment.directory, 'store'), clock: clients.now })
    mint = createMint(store)
    const right = await deployment.start(args, clock.env)
    const off = await deployment.start(args, other.env)
    return {
      origins: [right.origin, off.origin] as const,
      right: clients.at(right.origin),
      off: clients.at(off.origin),
      output: () => right.output() + off.output(),
      pass,
    }
  }

  it.each([-10, -5, 5, 10])('by %d s: takes what the other takes, and nothing of it twice', async (seconds) => {
    const { right, off, output } = await start(seconds)

    const { code } = await mint.code()
    const issued = await right.redeem(code)
    expect(resultOf(issued)).toBe('200')
    expect(resultOf(await off.userinfo(issued.body['access_token']))).toBe('200')
    const own = await off.redeem((await mint.code()).code)
    expect(resultOf(await right.userinfo(own.body['access_token']))).toBe('200')
    expect(resultOf(await off.redeem(code))).toBe('400 invalid_grant')

    const nonce = await right.nonce()
    for (const [first, second] of [
      [right, off],
      [off, right],
    ] as const) {
      // And one that by a clock that is 10 s ahead has just ended.
      for (const claims of [{}, { exp: clients.now() / 1000 + 1 }]) {
        const assertion = clients.assertion(claims)
        expect(resultOf(await first.present(assertion))).toBe('200')
        expect(resultOf(await second.present(assertion))).toBe('401 invalid_client')
      }
      for (const age of [0, 60]) {
        const proof = clients.proof(nonce, age)
        expect(resultOf(await first.prove(proof))).toBe('200')
        expect(resultOf(await second.prove(proof))).toBe('400 invalid_dpop_proof')
      }
      const { token } = await mint.refreshToken()
      const successor = (await first.refresh(token)).body['refresh_token']
      // The answer was lost, and the other process is asked.
      expect((await second.refresh(token)).body['refresh_token']).toBe(successor)
      expect(resultOf(await second.refresh(String(successor)))).toBe('200')

      const device = await first.approved()
      expect(resultOf(await second.poll(device))).toBe('200')
      expect(resultOf(await first.poll(device))).toBe('400 invalid_grant')
    }
    expect(output()).not.toMatch(/"status":5|A request failed/)
  })

  it('10 s ahead: completes what the other has begun, and the other what it has; both renew it', async () => {
    const { origins, output } = await start(10, withAttestation(), productWithDouble)
    const device = await createDevice(deployment.issuer)
    const complete = async (origin: string, { challenge }: Record<string, unknown>) => {
      const body = { challenge, challenge_signature: await device.sign({ challenge }) }
      const completed = await postJson(`${origin}/enrol/complete`, body)
      expect(completed.status).toBe(200)
      return completed.body
    }
    for (const [first, second] of [origins, origins.toReversed() as [string, string]]) {
      const enrolment = await postJson(`${first}/enrol`, device.enrolment())
      let { attestation } = await complete(second, enrolment.body)
      for (const [one, other] of [
        [first, second],
        [second, first],
      ] as const) {
        const renewal = await postJson(`${one}/reissue`, { attestation, public_jwk: device.jwk })
        expect(renewal.body).toHaveProperty('challenge')
        attestation = (await complete(other, renewal.body))['attestation']
      }
    }
    expect(output()).not.toMatch(/"status":5|A request failed/)
  })

  it('10 s ahead: does not forget what the other still takes', async () => {
    const { right, off, pass } = await start(10)
    const assertion = clients.assertion()
    const proof = clients.proof(await right.nonce())
    expect(resultOf(await right.present(assertion))).toBe('200')
    expect(resultOf(await right.prove(proof))).toBe('200')
    pass(62)
    await untilCollected(join(deployment.directory, 'store'), clients.now() + 10_000)
    expect(resultOf(await right.present(assertion))).toBe('401 invalid_client')
    expect(resultOf(await right.prove(proof))).toBe('400 invalid_dpop_proof')
    expect(resultOf(await off.present(clients.assertion()))).toBe('200')
  })

  it('60 s behind: refuses what is not valid yet', async () => {
    const { right, off, output } = await start(-60)
    const issued = await right.redeem((await mint.code()).code)
    expect(resultOf(await off.userinfo(issued.body['access_token']))).toBe('401 invalid_token')
    expect(resultOf(await off.present(clients.assertion()))).toBe('401 invalid_client')
    expect(resultOf(await off.prove(clients.proof(await right.nonce())))).toBe('400 invalid_dpop_proof')
    // A code is used once all the same.
    const { code } = await mint.code()
    expect(resultOf(await off.redeem(code))).toBe('200')
    expect(resultOf(await right.redeem(code))).toBe('400 invalid_grant')
    expect(output()).not.toMatch(/"status":5|A request failed/)
  })

  it('60 s ahead: refuses what has expired', async () => {
    const { right, off, output } = await start(60)
    const issued = await right.redeem((await mint.code()).code)
    expect(resultOf(await off.userinfo(issued.body['access_token']))).toBe('401 invalid_token')
    const exp = clients.now() / 1000 + 30
    expect(resultOf(await off.present(clients.assertion({ exp })))).toBe('401 invalid_client')
    expect(resultOf(await off.prove(clients.proof(await right.nonce(), 15)))).toBe('400 invalid_dpop_proof')
    expect(resultOf(await off.redeem((await mint.code()).code))).toBe('400 invalid_grant')
    const late = await off.redeem((await mint.code({}, { ttlSeconds: 120 })).code)
    expect(resultOf(await right.userinfo(late.body['access_token']))).toBe('401 invalid_token')
    expect(output()).not.toMatch(/"status":5|A request failed/)
  })
})
