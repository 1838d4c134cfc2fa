import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { DeviceError, memoryStore, type DeviceStore } from '../../libraries/device/index.js'
import { newDevice, payloadOf, refused, server, setUpServer, unavailable } from './set-up.js'

/** A day, and half of one. */
setUpServer({})
const reissueAfter = 43_200

/** The same numbers in each run. */
beforeEach(() => {
  let seed = 7
  vi.spyOn(Math, 'random').mockImplementation(() => {
    seed = (seed * 16_807) % 2_147_483_647
    return seed / 2_147_483_647
  })
})
afterEach(() => vi.restoreAllMocks())

const later = (seconds: number): void => server.host.later(seconds * 1000)

it('an hour without the provider: devices keep working, and return spread over ten minutes', async () => {
  const fleet = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const one = newDevice()
      let isAway = true
      one.wire.faults.shift = () => (isAway && one.wire.asked.length > 2 ? refused : undefined)
      await one.device.enrol(one.enrolment)
      return { ...one, first: await one.device.attestation(), comesBack: () => void (isAway = false) }
    }),
  )
  later(reissueAfter * 1.1)
  for (let passed = 0; passed < 3600; passed += 30) {
    for (const { device, first } of fleet) expect(await device.attestation()).toBe(first)
    for (const { store } of fleet) await store.exclusive(async () => undefined)
    later(30)
  }
  // Each has asked some ten times in the hour, not thousands of times.
  const attempts = fleet.map(({ wire }) => wire.asked.length - 2)
  expect(Math.max(...attempts)).toBeLessThan(40)
  expect(Math.min(...attempts)).toBeGreaterThan(5)

  for (const { comesBack } of fleet) comesBack()
  const renewedIn: number[] = []
  const waiting = new Set(fleet)
  for (let minute = 0; minute <= 10; minute++) {
    for (const one of waiting) {
      await one.device.attestation()
      await one.store.exclusive(async () => undefined)
      if ((await one.device.attestation()) !== one.first) {
        waiting.delete(one)
        renewedIn.push(minute)
      }
    }
    later(60)
  }
  expect(waiting.size).toBe(0)
  const perMinute = renewedIn.map((minute) => renewedIn.filter((other) => other === minute).length)
  expect(Math.max(...perMinute)).toBeLessThan(fleet.length / 2)
  expect(new Set(renewedIn).size).toBeGreaterThan(4)
})

it('waits as long as Retry-After says', async () => {
  const { device, store, wire, enrolment, failures } = newDevice()
  await device.enrol(enrolment)
  later(reissueAfter * 1.2)
  wire.faults.push(unavailable(1800))
  await device.attestation()
  await store.exclusive(async () => undefined)
  expect(failures).toEqual(['Unavailable'])
  later(1799)
  await device.attestation()
  await store.exclusive(async () => undefined)
  expect(wire.asked).toHaveLength(3)
  later(601)
  await device.attestation()
  await store.exclusive(async () => undefined)
  expect(wire.asked.slice(3)).toEqual(['/reissue', '/enrol/complete'])
})

it('an outage until the attestation expires is reported as an outage, with the time to wait', async () => {
  const { device, store, wire, enrolment } = newDevice()
  await device.enrol(enrolment)
  later(2 * reissueAfter - 40)
  wire.faults.push(refused, refused, refused, refused)
  expect(payloadOf(await device.attestation())).toMatchObject({ sub: 'library' })
  await store.exclusive(async () => undefined)
  later(11)
  const error: unknown = await device.attestation().catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(DeviceError)
  expect(error).toMatchObject({ errorCode: 'Unreachable', mustEnrol: false, isPassing: true })
  const { length } = wire.asked
  const again: unknown = await device.attestation().catch((caught: unknown) => caught)
  expect(again).toMatchObject({ errorCode: 'Unreachable' })
  expect((again as DeviceError).retryAfterSeconds).toBeGreaterThan(0)
  expect((again as DeviceError).retryAfterSeconds).toBeLessThanOrEqual(601)
  expect(wire.asked).toHaveLength(length)
})

it('an issuer of another protocol is reported at once', async () => {
  const { device, wire, enrolment } = newDevice()
  wire.faults.push(async () => new Response('<h1>Not found</h1>', { status: 404 }))
  const found = { errorCode: 'UnexpectedAnswer', isPassing: false, mustEnrol: false }
  await expect(device.enrol(enrolment)).rejects.toMatchObject(found)
  expect(wire.asked).toEqual(['/enrol'])
})

it('never sends the second factor to a redirect target', async () => {
  const inits: RequestInit[] = []
  const { device, enrolment } = newDevice({
    fetch: async (_url, init) => {
      inits.push(init ?? {})
      return new Response(null, { status: 404 })
    },
  })
  await expect(device.enrol(enrolment)).rejects.toThrow(DeviceError)
  expect(inits).toMatchObject([{ redirect: 'error', credentials: 'omit' }])
})

it('a clock that stepped back causes a renewal at once, and extends nothing', async () => {
  let behind = 0
  const { device, store, wire, enrolment } = newDevice({ clock: () => server.host.now() - behind * 1000 })
  await device.enrol(enrolment)
  const first = await device.attestation()
  behind = 86_400
  wire.faults.push(refused)
  expect(await device.attestation()).toBe(first)
  await store.exclusive(async () => undefined)
  expect(wire.asked).toEqual(['/enrol', '/enrol/complete', '/reissue'])
  const { goodUntil } = (await store.read()) as { goodUntil: number }
  expect(goodUntil).toBeLessThanOrEqual(server.host.now() / 1000)
  later(601)
  await device.attestation()
  await expect.poll(() => device.attestation()).not.toBe(first)
})

it('with a full store the attestation stays in use, and the provider is not called repeatedly', async () => {
  const store = memoryStore()
  let isFull = false
  const full: DeviceStore = {
    ...store,
    write: (record) => (isFull ? Promise.reject(new Error('ENOSPC')) : store.write(record)),
  }
  const { device, wire, enrolment, failures } = newDevice({ store: full })
  await device.enrol(enrolment)
  const first = await device.attestation()
  later(reissueAfter * 1.2)
  isFull = true
  for (let turn = 0; turn < 5; turn++) {
    expect(await device.attestation()).toBe(first)
    await store.exclusive(async () => undefined)
  }
  expect(failures).toEqual(['StoreFailed'])
  expect(wire.asked.slice(2)).toEqual(['/reissue', '/enrol/complete'])
  isFull = false
  later(602)
  await device.attestation()
  await expect.poll(() => device.attestation()).not.toBe(first)
})

it('an attestation of another key is reported as such', async () => {
  const { device, store, enrolment } = newDevice()
  await device.enrol(enrolment)
  const publicJwk = { kty: 'EC', crv: 'P-256', x: 'x'.repeat(43), y: 'y'.repeat(43) } as const
  const { device: other } = newDevice({ store, key: { publicJwk, sign: async () => new Uint8Array(64) } })
  await expect(other.attestation()).rejects.toMatchObject({ errorCode: 'KeyNotBound', mustEnrol: true })
})

it('a key that cannot sign is reported as such', async () => {
  const publicJwk = { kty: 'EC', crv: 'P-256', x: 'x'.repeat(43), y: 'y'.repeat(43) } as const
  const key = { publicJwk, sign: () => Promise.reject(new Error('CKR_DEVICE_REMOVED')) }
  const { device, wire, enrolment } = newDevice({ key })
  wire.faults.push(async () => Response.json({ challenge: 'one', expires_in: 300 }))
  const failed = { errorCode: 'KeyFailed', mustEnrol: false }
  await expect(device.enrol(enrolment)).rejects.toMatchObject(failed)
})
