import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterEach, expect, it, vi } from 'vitest'
import type { DeviceError, DeviceRecord } from '../../libraries/device/index.js'
import {
  holdWaits,
  issued,
  lost,
  newDevice,
  payloadOf,
  refused,
  reissueAfter,
  server,
  setUpServer,
  ttl,
  unavailable,
} from './set-up.js'

setUpServer()
afterEach(() => vi.restoreAllMocks())

const later = (seconds: number): void => server.host.later(seconds * 1000)

it('enrols a non-extractable key, and keeps the attestation', async () => {
  const { device, store, enrolment, name } = newDevice()
  await expect(device.attestation()).rejects.toMatchObject({ errorCode: 'NotEnrolled', mustEnrol: true })
  await device.enrol({ ...enrolment, attributes: { model: 'P1' } })
  const attestation = await device.attestation()
  const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
  const { payload } = await jwtVerify(attestation, keys, { typ: 'device-attestation+jwt', issuer: server.issuer })
  expect(payload).toMatchObject({ sub: 'library', did: name, principal_type: 'device', att: { model: 'P1' } })
  const { keys: pair } = (await store.read()) as DeviceRecord
  await expect(crypto.subtle.exportKey('pkcs8', pair!.privateKey)).rejects.toThrow(/not extractable/)
})

it('returns the current attestation while it renews it, then the new one for the same key', async () => {
  const { device, wire, enrolment, name } = newDevice()
  await device.enrol(enrolment)
  const first = await device.attestation()
  later(reissueAfter * 0.89)
  expect(await device.attestation()).toBe(first)
  expect(wire.asked).toEqual(['/enrol', '/enrol/complete'])
  later(reissueAfter * 0.22)
  expect(await device.attestation()).toBe(first)
  await expect.poll(() => device.attestation()).not.toBe(first)
  const second = payloadOf(await device.attestation())
  expect(second['cnf']).toEqual(payloadOf(first)['cnf'])
  expect(wire.asked.slice(2)).toEqual(['/reissue', '/enrol/complete'])
  expect(await issued(name)).toEqual(['enrolment', 'renewal'])
})

it("devices that are enrolled together renew at different times, within a tenth of the issuer's interval", async () => {
  const waits = holdWaits()
  for (let count = 0; count < 8; count++) {
    const { device, enrolment } = newDevice()
    await device.enrol(enrolment)
  }
  for (const length of waits.lengths) expect(Math.abs(length - reissueAfter)).toBeLessThanOrEqual(reissueAfter / 10 + 1)
  expect(Math.max(...waits.lengths) - Math.min(...waits.lengths)).toBeGreaterThan(10)
})

it('renews by itself without a call', async () => {
  const waits = holdWaits()
  const { device, enrolment, name } = newDevice()
  await device.enrol(enrolment)
  const [length = 0, ...more] = waits.lengths
  expect(more).toEqual([])
  expect(Math.abs(length - reissueAfter)).toBeLessThanOrEqual(reissueAfter / 10 + 1)
  // To the microsecond it would be a matter of rounding.
  later(length + 1)
  waits.end()
  await expect.poll(() => issued(name)).toEqual(['enrolment', 'renewal'])
})

it('renews once for all concurrent callers', async () => {
  const { device, store, enrolment, name, wire } = newDevice()
  await device.enrol(enrolment)
  const { device: other, wire: others } = newDevice({ store })
  later(reissueAfter * 1.2)
  await Promise.all(Array.from({ length: 8 }, (_, turn) => (turn % 2 === 0 ? device : other).attestation()))
  await expect.poll(() => issued(name)).toEqual(['enrolment', 'renewal'])
  await store.exclusive(async () => undefined)
  expect([...wire.asked.slice(2), ...others.asked]).toEqual(['/reissue', '/enrol/complete'])
})

it('renews on demand, once for all concurrent callers', async () => {
  const { device, store, enrolment, name, failures } = newDevice()
  await expect(device.renew()).rejects.toMatchObject({ errorCode: 'NotEnrolled' })
  await device.enrol(enrolment)
  const first = await device.attestation()
  const renewed = await Promise.all([device.renew(), newDevice({ store }).device.renew(), device.renew()])
  expect(new Set([first, ...renewed]).size).toBe(2)
  expect(await device.attestation()).toBe(renewed[0])
  expect(await issued(name)).toEqual(['enrolment', 'renewal'])
  server.double.current = () => undefined
  await expect(device.renew()).rejects.toMatchObject({ errorCode: 'PrincipalRevoked' })
  expect(failures).toEqual(['PrincipalRevoked'])
  expect(await device.attestation()).toBe(renewed[0])
  server.double.current = () => ({})
  expect(await device.renew()).not.toBe(renewed[0])
})

it('reports a refused factor', async () => {
  const { device, enrolment } = newDevice()
  const secondFactor = { kind: 'word', value: 'wrong' }
  await expect(device.enrol({ ...enrolment, secondFactor })).rejects.toMatchObject({
    name: 'DeviceError',
    errorCode: 'SecondFactorFailed',
    mustEnrol: false,
    message: 'The second factor was not accepted.',
  })
})

it('a failed enrolment leaves the earlier one unchanged', async () => {
  const { device, enrolment } = newDevice()
  await device.enrol(enrolment)
  const before = await device.attestation()
  const secondFactor = { kind: 'word', value: 'wrong' }
  await expect(device.enrol({ ...enrolment, secondFactor })).rejects.toThrow('not accepted')
  expect(await device.attestation()).toBe(before)
  await device.enrol(enrolment)
  expect(payloadOf(await device.attestation())['cnf']).not.toEqual(payloadOf(before)['cnf'])
})

it('waits until a person has approved', async () => {
  const waits = holdWaits()
  const { device, enrolment, wire } = newDevice()
  const answers = [1, 2, 3].map(() => ({ ok: false, reason: 'waits', retryAfterSeconds: 10 }))
  server.double.verify = () => answers.shift() ?? { ok: true }
  const told: unknown[] = []
  const onWaiting = ({ errorCode, retryAfterSeconds }: DeviceError): void => {
    told.push([errorCode, retryAfterSeconds])
  }
  await waits.skipUntil(device.enrol({ ...enrolment, onWaiting }))
  expect(told).toEqual(Array(3).fill(['ApprovalPending', expect.toSatisfy((wait: number) => wait >= 10)]))
  expect(wire.asked).toEqual(['/enrol', '/enrol', '/enrol', '/enrol', '/enrol/complete'])
  expect(waits.lengths.slice(0, 3).every((length) => length >= 10)).toBe(true)
})

it('stops waiting for approval when it is aborted', async () => {
  const waits = holdWaits()
  const { device, enrolment } = newDevice()
  const stop = new AbortController()
  server.double.verify = () => ({ ok: false, reason: 'waits', retryAfterSeconds: 10 })
  const enrolling = device.enrol({ ...enrolment, signal: stop.signal })
  await vi.waitUntil(() => waits.lengths.length > 0)
  stop.abort(new Error('the person went away'))
  await expect(enrolling).rejects.toThrow('the person went away')
  await expect(device.attestation()).rejects.toMatchObject({ errorCode: 'NotEnrolled' })
})

it.each([
  ['503 with Retry-After', unavailable(7)],
  ['503 without', unavailable()],
  ['a refused connection', refused],
  ['a page of a proxy', async () => new Response('<html>', { status: 502 })],
  ['half of an answer', async () => new Response('{"challenge": "', { status: 200 })],
])('an enrolment survives %s at each step', async (_title, fault) => {
  const waits = holdWaits()
  const { device, enrolment, wire } = newDevice()
  wire.faults.push(fault, fault, (send) => send(), fault)
  await waits.skipUntil(device.enrol(enrolment))
  expect(wire.asked).toEqual(['/enrol', '/enrol', '/enrol', '/enrol/complete', '/enrol/complete'])
  expect(payloadOf(await device.attestation())).toMatchObject({ sub: 'library' })
})

it('a completion whose response was lost is reported as such: another factor is needed', async () => {
  const waits = holdWaits()
  const { device, enrolment, wire } = newDevice()
  wire.faults.push((send) => send(), lost)
  await expect(waits.skipUntil(device.enrol(enrolment))).rejects.toMatchObject({ errorCode: 'InvalidChallenge' })
  await device.enrol(enrolment)
  expect(payloadOf(await device.attestation())).toMatchObject({ sub: 'library' })
})

it('a renewal whose answer was lost starts over', async () => {
  const { device, enrolment, wire, failures, name } = newDevice()
  await device.enrol(enrolment)
  const first = await device.attestation()
  later(reissueAfter * 1.2)
  wire.faults.push((send) => send(), lost)
  expect(await device.attestation()).toBe(first)
  await expect.poll(() => failures).toEqual(['Unreachable'])
  later(600 + 1)
  expect(await device.attestation()).toBe(first)
  await expect.poll(() => device.attestation()).not.toBe(first)
  expect(await issued(name)).toEqual(['enrolment', 'renewal', 'renewal'])
})

it('a revoked device works while its attestation is valid, and renews if the revocation is undone', async () => {
  const { device, store, enrolment, failures, wire } = newDevice()
  await device.enrol(enrolment)
  const first = await device.attestation()
  server.double.current = () => undefined
  later(reissueAfter * 1.1)
  expect(await device.attestation()).toBe(first)
  await expect.poll(() => failures).toEqual(['PrincipalRevoked'])
  later(300)
  expect(await device.attestation()).toBe(first)
  await store.exclusive(async () => undefined)
  expect(wire.asked.slice(2)).toEqual(['/reissue'])
  server.double.current = () => ({})
  later(((ttl - reissueAfter * 1.1) * 2) / 3 - 300)
  expect(await device.attestation()).toBe(first)
  await expect.poll(() => device.attestation()).not.toBe(first)
})

it('a device whose attestation has expired reports that it must enrol, retries rarely, and enrols', async () => {
  const { device, enrolment, wire } = newDevice()
  await device.enrol(enrolment)
  later(ttl + 1)
  const expired = { errorCode: 'AttestationInvalid', mustEnrol: true }
  await expect(device.attestation()).rejects.toMatchObject(expired)
  for (let turn = 0; turn < 5; turn++) await expect(device.attestation()).rejects.toMatchObject(expired)
  expect(wire.asked.slice(2)).toEqual(['/reissue'])
  await device.enrol(enrolment)
  expect(payloadOf(await device.attestation())).toMatchObject({ sub: 'library' })
})

it('a revocation at the next enrolment is reported with its code', async () => {
  const { device, enrolment } = newDevice()
  server.double.current = () => undefined
  await expect(device.enrol(enrolment)).rejects.toMatchObject({ errorCode: 'PrincipalRevoked', mustEnrol: true })
})

it('a device whose clock is wrong by days enrols and renews', async () => {
  for (const days of [-3, 3]) {
    const { device, enrolment } = newDevice({ clock: () => server.host.now() + days * 86_400_000 })
    await device.enrol(enrolment)
    const first = await device.attestation()
    later(reissueAfter * 1.2)
    await device.attestation()
    await expect.poll(() => device.attestation()).not.toBe(first)
  }
})

it('deletes its key and attestation on request', async () => {
  const { device, store, enrolment } = newDevice()
  await device.enrol(enrolment)
  await device.forget()
  expect(await store.read()).toBeUndefined()
  await expect(device.attestation()).rejects.toMatchObject({ errorCode: 'NotEnrolled' })
})

it('nothing of the demo is served without the demo', async () => {
  const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  expect((await fetch(`${server.issuer}/demo/payment`, asked)).status).toBe(404)
})
