import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SecondFactorVerifier } from '../../core/attestation/ports.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import plugin from '../../plugins/attestation/approval/index.js'
import { createDevice, decodeJws, type DeviceOptions } from '../support/clients/attestation.js'
import { startFactorServer, type FactorServer } from '../support/server/factor-server.js'

const options = {
  ...{ expires_secs: 600, denied_secs: 1200, retry_after_secs: 7 },
  ...{ max_per_principal: 3, max_per_address: 100, max_waiting: 12 },
}

let server: FactorServer
/** As another process has it. */
let backend: StorageBackend
let factor: SecondFactorVerifier
beforeAll(async () => {
  server = await startFactorServer([{ use: 'plugins/attestation/approval', options }])
  backend = await openEmbedded({ path: join(server.directory, 'store'), clock: server.now })
  const contributions = await plugin.create(options, {
    clock: server.now,
    factorRecords: backend.records('second_factors'),
    factorClaims: backend.replayGuard('second_factor_claims'),
  })
  factor = contributions.secondFactors![0]!
})
afterAll(async () => {
  await backend[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

let count = 0
/** Another principal each time. */
const newDevice = (more: DeviceOptions = {}) =>
  createDevice(server.issuer, {
    principal_id: `phone-${String(count++)}`,
    second_factor: { kind: 'approval', value: '42' },
    ...more,
  })
type Enrolling = Awaited<ReturnType<typeof newDevice>>

const waitingOf = async ({ jkt }: Pick<Enrolling, 'jkt'>) =>
  (await factor.waiting!()).filter((waiting) => waiting.jkt === jkt)
/** Has a device wait, and returns the id. */
const wait = async (device: Enrolling): Promise<string> => {
  expect(await device.enrol()).toMatchObject(pending)
  const [waiting] = await waitingOf(device)
  return waiting!.id
}
const decide = (id: string, decision: 'approve' | 'deny') => factor.decide!(id, decision)
const pending = { status: 400, body: { error: 'authorization_pending', error_code: 'ApprovalPending' } }
const refused = { status: 401, body: { error: 'invalid_grant', error_code: 'SecondFactorFailed' } }
const lastReason = async () => (await server.audit()).at(-1)?.['reason']

describe('approval by a person', () => {
  it('keeps the same request waiting until it is approved', async () => {
    const device = await newDevice({ attributes: { model: 'P1', os: { b: 1, a: 2 } } })
    const first = await device.enrol()
    expect(first).toMatchObject(pending)
    const retryAfter = Number(first.headers.get('retry-after'))
    expect(retryAfter).toBeGreaterThanOrEqual(7)
    expect(await lastReason()).toBe('waiting for approval')
    const [waiting, ...more] = await waitingOf(device)
    expect(more).toEqual([])
    expect(waiting).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      principal: { subject: 'alice', principalId: expect.any(String), principalType: 'device' },
      jkt: device.jkt,
      attributes: { model: 'P1', os: { b: 1, a: 2 } },
      message: '42',
      address: expect.stringMatching(/^198\.18\.\d+\.\d+$/),
      requestedAt: Math.floor(server.now() / 1000),
    })
    expect(await device.enrol()).toMatchObject(pending)
    expect(await waitingOf(device)).toHaveLength(1)

    expect(await decide(waiting!.id, 'approve')).toBe(true)
    expect(await waitingOf(device)).toEqual([{ ...waiting, approved: true }])
    const answer = await device.enrol({ attributes: { os: { a: 2, b: 1 }, model: 'P1' } })
    expect(answer.status).toBe(200)
    const { body } = await device.complete(answer.body['challenge'])
    expect(decodeJws(String(body['attestation'])).payload['att']).toEqual({
      model: 'P1',
      os: { a: 2, b: 1 },
      status: 'active',
    })
  })

  it('is used once; the next enrolment waits again', async () => {
    const device = await newDevice()
    await decide(await wait(device), 'approve')
    expect((await device.enrol()).status).toBe(200)
    expect(await device.enrol()).toMatchObject(pending)
    expect(await waitingOf(device)).toHaveLength(1)
  })

  it('is used by one of many requests at once', async () => {
    const device = await newDevice()
    await decide(await wait(device), 'approve')
    const answers = await Promise.all(Array.from({ length: 20 }, () => device.enrol()))
    // Who comes late waits for a decision of its own.
    const codes = answers.map(({ body }) => body['error_code'] ?? 'challenge')
    expect(codes.filter((code) => code === 'challenge')).toHaveLength(1)
    for (const code of codes) expect(['challenge', 'SecondFactorFailed', 'ApprovalPending']).toContain(code)
  })

  it.each([
    ['another key', (device: Enrolling) => newDevice({ principal_id: String(device.enrolment()['principal_id']) })],
    ['other attributes', (device: Enrolling) => ({ enrol: () => device.enrol({ attributes: { model: 'P2' } }) })],
    [
      'a list where an object was',
      (device: Enrolling) => ({ enrol: () => device.enrol({ attributes: { model: ['P1'] } }) }),
    ],
    ['no attributes', (device: Enrolling) => ({ enrol: () => device.enrol({ attributes: {} }) })],
    [
      'another message',
      (device: Enrolling) => ({ enrol: () => device.enrol({ second_factor: { kind: 'approval', value: '43' } }) }),
    ],
    ['another subject', (device: Enrolling) => ({ enrol: () => device.enrol({ subject: 'mallory' }) })],
    ['another type', (device: Enrolling) => ({ enrol: () => device.enrol({ principal_type: 'service' }) })],
  ])('applies to the request that was shown, not to one with %s', async (_name, change) => {
    const device = await newDevice()
    await decide(await wait(device), 'approve')
    const changed = await change(device)
    expect(await changed.enrol()).toMatchObject(pending)
    expect((await device.enrol()).status).toBe(200)
    for (const { id } of await factor.waiting!()) await decide(id, 'deny')
  })

  it('stays denied until it expires, and can be requested again afterwards', async () => {
    const device = await newDevice()
    const id = await wait(device)
    expect(await decide(id, 'deny')).toBe(true)
    const answer = await device.enrol()
    expect(answer).toMatchObject(refused)
    expect(answer.headers.get('retry-after')).toBeNull()
    expect(await lastReason()).toBe('denied by an operator')
    expect(await waitingOf(device)).toEqual([])
    expect(await decide(id, 'approve')).toBe(false)
    server.later(1_199_000)
    await device.enrol()
    expect(await lastReason()).toBe('denied by an operator')
    server.later(1000)
    await device.enrol()
    expect(await lastReason()).toBe('waiting for approval')
    await decide(id, 'deny')
  })

  it('expires whether it was approved or not', async () => {
    const device = await newDevice()
    const id = await wait(device)
    server.later(599_000)
    expect(await decide(id, 'approve')).toBe(true)
    server.later(1000)
    expect(await device.enrol()).toMatchObject(pending)
    expect(await waitingOf(device)).toHaveLength(1)
    // The earlier approval was for the earlier wait.
    expect(await device.enrol()).toMatchObject(pending)
    server.later(600_000)
    expect(await decide(id, 'approve')).toBe(false)
    expect(await factor.waiting!()).toEqual([])
  })

  it.each(['approve', 'deny'] as const)('is decided by one of many calls that %s at once', async (decision) => {
    const device = await newDevice()
    const id = await wait(device)
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => decide(id, decision)))
    expect(outcomes.filter(Boolean)).toHaveLength(1)
    expect((await device.enrol()).status).toBe(decision === 'approve' ? 200 : 401)
  })

  it('is withdrawn by a denial, and never approved again', async () => {
    const device = await newDevice()
    const id = await wait(device)
    expect(await decide(id, 'approve')).toBe(true)
    expect(await decide(id, 'deny')).toBe(true)
    expect(await decide(id, 'deny')).toBe(false)
    expect(await decide(id, 'approve')).toBe(false)
    expect(await device.enrol()).toMatchObject(refused)
    expect(await lastReason()).toBe('denied by an operator')
    expect(await waitingOf(device)).toEqual([])
  })

  it('is used or withdrawn, never both', async () => {
    for (let round = 0; round < 20; round += 1) {
      const device = await newDevice()
      const id = await wait(device)
      await decide(id, 'approve')
      const [{ status }, takenBack] = await Promise.all([device.enrol(), decide(id, 'deny')])
      expect([status, takenBack]).toEqual(takenBack ? [401, true] : [200, false])
    }
    const device = await newDevice()
    const id = await wait(device)
    await decide(id, 'approve')
    expect((await device.enrol()).status).toBe(200)
    expect(await decide(id, 'deny')).toBe(false)
  })

  it.each(['0123456789abcdef', '', '../x', 'approval:waiting:0', 'x'.repeat(600)])(
    'decides nothing for %j',
    async (id) => {
      expect(await decide(id, 'approve')).toBe(false)
    },
  )

  it.each(['', ' 42', '42 ', 'a\nb', '\u001b[2J', 'x'.repeat(65), '４２', '42\u202e'])(
    'refuses the message %j',
    async (value) => {
      const device = await newDevice({ second_factor: { kind: 'approval', value } })
      expect(await device.enrol()).toMatchObject(refused)
      expect(await waitingOf(device)).toEqual([])
    },
  )
})

describe('what waits', () => {
  const clear = async () => {
    server.later(2_000_000)
    expect(await factor.waiting!()).toEqual([])
  }

  it('is limited exactly for each principal, also with parallel callers', async () => {
    await clear()
    const refusedForRoom = async () =>
      (await server.audit()).filter(({ reason }) => reason === 'too many enrolments wait').length
    const before = await refusedForRoom()
    const devices = await Promise.all(Array.from({ length: 12 }, () => newDevice({ principal_id: 'crowded' })))
    const answers = await Promise.all(devices.map((device) => device.enrol()))
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(400))
    expect(await factor.waiting!()).toHaveLength(3)
    expect((await refusedForRoom()) - before).toBe(9)
    // Nobody can tell from the answer.
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.every(({ headers }) => headers.has('retry-after'))).toBe(true)
    // A decision makes room.
    const [first] = await factor.waiting!()
    await decide(first!.id, 'deny')
    const late = await newDevice({ principal_id: 'crowded' })
    await late.enrol()
    expect(await waitingOf(late)).toHaveLength(1)
  })

  it('is limited exactly in total, and has room again afterwards', async () => {
    await clear()
    const devices = await Promise.all(Array.from({ length: 30 }, () => newDevice()))
    await Promise.all(devices.map((device) => device.enrol()))
    expect(await factor.waiting!()).toHaveLength(12)
    const [first] = await factor.waiting!()
    await decide(first!.id, 'deny')
    await (await newDevice()).enrol()
    expect(await factor.waiting!()).toHaveLength(12)
    await clear()
    await (await newDevice()).enrol()
    expect(await factor.waiting!()).toHaveLength(1)
  })

  it('is one entry, in one slot, when the same request comes many times at once', async () => {
    await clear()
    const device = await newDevice()
    await Promise.all(Array.from({ length: 10 }, () => device.enrol()))
    expect(await factor.waiting!()).toHaveLength(1)
    const places = await backend.records('second_factors').list('approval:place', 100)
    expect(places.filter(({ id }) => id.startsWith('approval:place'))).toHaveLength(2)
  })
})
