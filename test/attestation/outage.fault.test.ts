import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { failingAudit, failingStore, type Faults, inBothRoles } from '../support/stores/failing-store.js'
import { packageRoot } from '../../core/package-root.js'
import { postJson, type AttestationAnswer, type Device } from '../support/clients/attestation.js'

// Row 45: whatever is down, nothing is issued, nothing is used up, and the same request passes afterwards.

const faults: Faults = new Map()
const lost = new Set<string>()

let server: AttestationServer
let device: Device
let attestation: string
beforeAll(async () => {
  server = await startAttestationServer({
    status: true,
    // So few that every request of a key is counted in the store.
    limits: { address_per_minute: 1_000_000, subject_per_minute: 1_000_000, principal_free: 1000, key_per_minute: 9 },
    doubles: { stores: inBothRoles(failingStore(faults)), audit: failingAudit(lost) },
  })
})
beforeEach(async () => {
  device = await server.device()
  attestation = await device.attest()
  server.double.reset()
})
afterEach(async () => {
  faults.clear()
  lost.clear()
  server.double.reset()
  await server.expectGood()
})
afterAll(() => server[Symbol.asyncDispose]())

/** 503 while it is down, and the same request passes when it is back. */
const expectOutage = async (send: () => Promise<AttestationAnswer>, breakIt: () => void): Promise<void> => {
  breakIt()
  expectNamed(await send(), 'Unavailable')
  expectNamed(await send(), 'Unavailable')
  faults.clear()
  lost.clear()
  expect((await send()).status).toBe(200)
}

describe('the store', () => {
  it.each(['counters.update', 'challenges.put', '*'])('%s at /enrol: the factor is not used up', async (verb) => {
    let used = 0
    server.double.consume = () => Promise.resolve(++used === 1)
    await expectOutage(
      () => device.enrol(),
      () => faults.set(verb, 'before'),
    )
    expect(used).toBe(1)
  })

  it('counters.remove at /enrol: the factor was used up, so the client gets the challenge', async () => {
    faults.set('counters.remove', 'before')
    const { body, status } = await device.enrol()
    expect(status).toBe(200)
    expect((await device.complete(body['challenge'])).status).toBe(200)
  })

  it.each(['challenges.findUnused', 'counters.update', 'challenges.redeem', '*'])(
    '%s at /enrol/complete: the challenge stays',
    async (verb) => {
      const challenge = await device.challenge()
      await expectOutage(
        () => device.complete(challenge),
        () => faults.set(verb, 'before'),
      )
      expectNamed(await device.complete(challenge), 'InvalidChallenge')
    },
  )

  it('a redemption whose answer was lost: 503, no attestation, and never two', async () => {
    const challenge = await device.challenge()
    faults.set('challenges.redeem', 'after')
    expectNamed(await device.complete(challenge), 'Unavailable')
    faults.clear()
    expectNamed(await device.complete(challenge), 'InvalidChallenge')
  })

  it('a wrong signature while the challenge cannot be burnt: 503, not a word of the signature', async () => {
    const challenge = await device.challenge()
    faults.set('challenges.redeem', 'before')
    expectNamed(await device.complete(challenge, await (await server.device()).sign({ challenge })), 'Unavailable')
    faults.clear()
    expectNamed(
      await device.complete(challenge, await (await server.device()).sign({ challenge })),
      'ChallengeSignatureInvalid',
    )
    expectNamed(await device.complete(challenge), 'InvalidChallenge')
  })

  it.each(['counters.update', 'challenges.put', '*'])('%s at /reissue', (verb) =>
    expectOutage(
      () => device.reissue(attestation),
      () => faults.set(verb, 'before'),
    ),
  )

  it('a factor whose use could not be stored', async () => {
    server.double.consume = () => Promise.reject(new Error('the claim was not written'))
    expectNamed(await device.enrol(), 'Unavailable')
    server.double.consume = () => Promise.resolve(true)
    await device.attest()
  })
})

describe('the audit log (F34)', () => {
  it('at /enrol: no challenge, and the factor is not used up', async () => {
    let used = 0
    server.double.consume = () => Promise.resolve(++used === 1)
    await expectOutage(
      () => device.enrol(),
      () => lost.add('attestation.challenged'),
    )
    expect(used).toBe(1)
  })

  it('before the challenge is consumed: it stays', async () => {
    const challenge = await device.challenge()
    await expectOutage(
      () => device.complete(challenge),
      () => lost.add('attestation.signed'),
    )
  })

  it('after it: no attestation leaves unrecorded', async () => {
    const challenge = await device.challenge()
    lost.add('attestation.issued')
    const answer = await device.complete(challenge)
    expectNamed(answer, 'Unavailable')
    expect(answer.body).not.toHaveProperty('attestation')
  })

  it('a refusal of a principal whose factor was accepted is 503 when it cannot be recorded', async () => {
    const challenge = await device.challenge()
    lost.add('attestation.refused')
    expectNamed(await device.complete(challenge, 'x.y.z'), 'Unavailable')
  })

  it('AN16 a refusal of an unauthenticated caller that cannot be recorded stays a refusal', async () => {
    lost.add('attestation.refused')
    expectNamed(await device.enrol({ second_factor: { kind: 'word', value: 'wrong' } }), 'SecondFactorFailed')
  })
})

describe('the signer', () => {
  let directory: string
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'signet-control-'))
    await say('sign')
  })
  afterEach(() => rm(directory, { recursive: true }))

  const control = () => join(directory, 'control')
  const say = (word: string) => writeFile(control(), word)

  /** A server whose attestations are signed by one that obeys the test. */
  const startBroken = (plugins: readonly object[] = []) =>
    startAttestationServer({
      configure: (written) => ({
        ...written,
        plugins: [...(written['plugins'] as object[]), ...plugins],
        signers: {
          ...(written['signers'] as object),
          broken: {
            use: join(packageRoot, 'test/support/signers/failing-signer.ts'),
            options: { control: control() },
          },
        },
        keys: [
          { ...(written['keys'] as object[])[0], purposes: ['access_token', 'id_token', 'userinfo'] },
          { kid: 'broken', alg: 'ES256', signer: 'broken', ref: 'x', purposes: ['attestation'] },
        ],
      }),
    })

  const expectSoon = (send: () => Promise<AttestationAnswer>) =>
    expect.poll(async () => (await send()).status, { timeout: 20_000, interval: 100 }).toBe(200)

  it.each(['unavailable', 'throw', 'hang'])(
    '%s at completion: 503, and the same request passes afterwards',
    async (word) => {
      await using broken = await startBroken()
      const own = await broken.device()
      const renewal = await own.reissue(await own.attest())
      const challenges = [String(renewal.body['challenge']), await own.challenge()]
      const signatures = await Promise.all(challenges.map((challenge) => own.sign({ challenge })))
      await say(word)
      const complete = (n: number) => own.complete(challenges[n], signatures[n])
      for (const answer of await Promise.all([complete(0), complete(1)])) expectNamed(answer, 'Unavailable')
      // What needs no signature goes on.
      expect((await own.enrol()).status).toBe(200)
      expect((await postJson(`${broken.issuer}/challenge`, {})).status).toBe(200)
      await say('sign')
      for (const n of [0, 1]) {
        await expectSoon(() => complete(n))
        expectNamed(await complete(n), 'InvalidChallenge')
      }
    },
  )

  it('down while another key is enrolled: the earlier one is renewed until then', async () => {
    await using broken = await startBroken([{ use: 'plugins/attestation/registry' }])
    const [before, after] = [await broken.device(), await broken.device()]
    const first = await before.attest()
    const challenge = await after.challenge()
    await say('unavailable')
    expectNamed(await after.complete(challenge), 'Unavailable')
    const renewal = await before.reissue(first)
    expect(renewal.status).toBe(200)
    await say('sign')
    await expectSoon(() => before.complete(renewal.body['challenge']))
    expect((await after.complete(challenge)).status).toBe(200)
    expectNamed(await before.reissue(first), 'PrincipalRevoked')
  })
})
