import { describe, expect, it } from 'vitest'
import { createVerifier, memoryReplayGuard, type ReplayGuard } from '../../libraries/verify/index.js'
import { createTestDevice, createTestIssuer } from '../support/verify/attested-device.js'
import { reasonOf } from '../support/verify/reason-of.js'

const start = 1_000_000
let seconds = start
const clock = () => seconds * 1000

describe('memoryReplayGuard', () => {
  it('remembers up to and including the last second', () => {
    seconds = start
    const guard = memoryReplayGuard({ clock })
    expect(guard.claim('a.1', start + 10)).toBe(true)
    for (seconds of [start, start + 5, start + 10, start + 10.9]) expect(guard.claim('a.1', start + 10)).toBe(false)
    expect(guard.claim('a.2', start + 10)).toBe(true)
  })

  it('VR08: does not accept what it has forgotten when the clock is put back', () => {
    seconds = start
    const guard = memoryReplayGuard({ clock })
    expect(guard.claim('a.1', start + 10)).toBe(true)
    seconds = start + 20
    expect(guard.claim('a.2', start + 30)).toBe(true)
    seconds = start
    expect(guard.claim('a.1', start + 10)).toBe(false)
    expect(guard.claim('a.2', start + 30)).toBe(false)
  })

  it('VR28: is full rather than forgetful, and has room again when something has ended', () => {
    seconds = start
    const guard = memoryReplayGuard({ clock, most: 3, maxOfOne: 3 })
    for (const id of ['1', '2', '3']) expect(guard.claim(`a.${id}`, start + Number(id))).toBe(true)
    expect(() => guard.claim('b.1', start + 9)).toThrow(expect.objectContaining({ reason: 'replay_guard_full' }))
    expect(guard.claim('a.1', start + 1)).toBe(false)
    seconds = start + 2
    expect(guard.claim('b.1', start + 9)).toBe(true)
    expect(() => guard.claim('b.2', start + 9)).toThrow(expect.objectContaining({ reason: 'replay_guard_full' }))
  })

  it('VR28: one device has a share of it', () => {
    seconds = start
    const guard = memoryReplayGuard({ clock, most: 20 })
    for (const id of ['1', '2']) expect(guard.claim(`a.${id}`, start + 1)).toBe(true)
    expect(() => guard.claim('a.3', start + 1)).toThrow(expect.objectContaining({ reason: 'replay_guard_full' }))
    expect(guard.claim('b.1', start + 1)).toBe(true)
    seconds = start + 2
    expect(guard.claim('a.3', start + 3)).toBe(true)
  })
})

describe('a third-party guard', () => {
  const issuer = createTestIssuer('https://issuer.example', Date.now)
  const device = createTestDevice(Date.now)
  const check = (replay: ReplayGuard) =>
    createVerifier({ issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks() }], audience: 'api', replay }).check(
      new Request('https://api.example/', {
        headers: {
          'x-attestation': issuer.attest(device.jkt),
          'x-signature': device.signature({ audience: 'api', claims: { jti: 'one' } }),
        },
      }),
    )

  it('gets the key, the id, and the end with the skew', async () => {
    const claims: unknown[] = []
    await check({
      claim: (...claim) => {
        claims.push(claim)
        return Promise.resolve(true)
      },
    })
    expect(claims).toEqual([[`${device.jkt}.one`, expect.any(Number)]])
    const [[, end]] = claims as [[string, number]]
    expect(end - Date.now() / 1000).toBeGreaterThan(85)
    expect(end - Date.now() / 1000).toBeLessThanOrEqual(90)
  })

  it('VR28: that is down, in whatever way, lets nothing pass and is 503', async () => {
    const down = new Error('ECONNREFUSED')
    const unavailable = [
      () => Promise.reject(down),
      () => {
        throw down
      },
    ]
    for (const claim of unavailable) {
      const error = await check({ claim }).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ reason: 'replay_guard_unavailable', answer: { status: 503 }, cause: down })
    }
    for (const said of [undefined, null, 'OK', 1])
      expect(await reasonOf(check({ claim: () => said as never }))).toBe('replay_detected')
  })
})
