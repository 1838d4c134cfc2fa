import { afterEach, expect, it, vi } from 'vitest'
import { calculateJwkThumbprint } from 'jose'
import type { EvidenceRequest } from '../../libraries/device/index.js'
import { holdWaits, newDevice, payloadOf, server, setUpServer, unavailable } from './set-up.js'

setUpServer(undefined, { evidence: true })
afterEach(() => vi.restoreAllMocks())

const makeEvidence = () =>
  vi.fn(({ challenge }: EvidenceRequest) => Promise.resolve({ kind: 'chip', contains: challenge }))

it('sends the evidence that the device creates for this challenge and this key', async () => {
  const { device, enrolment, wire } = newDevice()
  const evidence = makeEvidence()
  await device.enrol({ ...enrolment, evidence })
  expect(payloadOf(await device.attestation())['key_storage']).toEqual(['iso_18045_high'])
  expect(wire.asked).toEqual(['/challenge', '/enrol', '/enrol/complete'])
  const [[{ challenge, publicJwk, statement }]] = evidence.mock.calls as [[EvidenceRequest]]
  const jkt = await calculateJwkThumbprint(publicJwk)
  expect(new TextDecoder().decode(statement)).toBe(`${challenge}.${jkt}`)
  expect(payloadOf(await device.attestation())['cnf']).toMatchObject({ jkt })
})

it('creates it again if the challenge expires before a person decides', async () => {
  const { device, enrolment } = newDevice()
  const evidence = makeEvidence()
  let turns = 0
  server.double.verify = () => {
    if (++turns > 1) return { ok: true }
    server.host.later(400_000)
    return { ok: false, retryAfterSeconds: 1 }
  }
  const waits = holdWaits()
  await waits.skipUntil(device.enrol({ ...enrolment, evidence }))
  expect(evidence).toHaveBeenCalledTimes(2)
  expect(payloadOf(await device.attestation())['key_storage']).toEqual(['iso_18045_high'])
})

it('sends it again after an outage, without creating it again', async () => {
  const { device, enrolment, wire } = newDevice()
  const evidence = makeEvidence()
  wire.faults.push((send) => send(), unavailable(1))
  const waits = holdWaits()
  await waits.skipUntil(device.enrol({ ...enrolment, evidence }))
  expect(evidence).toHaveBeenCalledTimes(1)
})

it('rejects at once when the issuer refuses, or with the error of the hardware', async () => {
  const { device, enrolment, wire } = newDevice()
  const wrong = vi.fn(() => Promise.resolve({ kind: 'chip', contains: 'x' }))
  await expect(device.enrol({ ...enrolment, evidence: wrong })).rejects.toMatchObject({ errorCode: 'EvidenceInvalid' })
  expect(wrong).toHaveBeenCalledTimes(1)
  const broken = new Error('no hardware')
  await expect(device.enrol({ ...enrolment, evidence: () => Promise.reject(broken) })).rejects.toBe(broken)
  expect(wire.asked).toEqual(['/challenge', '/enrol', '/challenge'])
})
