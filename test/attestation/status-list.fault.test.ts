import { getStatusListFromJWT } from '@sd-jwt/jwt-status-list'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readStatus } from '../support/clients/status-list.js'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { failingStore, inBothRoles, type Faults } from '../support/stores/failing-store.js'

// F37: what an outage of the lists costs those who enrol and renew, and those who are refused.

const faults: Faults = new Map()

let server: AttestationServer
beforeAll(async () => {
  server = await startAttestationServer({
    status: true,
    section: { status_list: { ttl_secs: 60 } },
    doubles: { stores: inBothRoles(failingStore(faults)) },
  })
})
afterEach(async () => {
  faults.clear()
  server.double.reset()
  await server.expectGood()
})
afterAll(() => server[Symbol.asyncDispose]())

const statusOf = async (attestation: string): Promise<number> => {
  const { idx, uri } = getStatusListFromJWT(attestation)
  return readStatus(await (await fetch(uri)).text(), idx)
}

it('SF06 a list that this process has never read is 503 with Retry-After while the store is down', async () => {
  const { uri } = getStatusListFromJWT(await (await server.device()).attest())
  faults.set('status_list_bits.list', 'before')
  const answer = await fetch(uri)
  expect(answer.status).toBe(503)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  // It is asked for again in a second.
  server.host.later(1000)
})

describe('the ceremony', () => {
  it.each(['status_list_entries.put'])('%s at /enrol/complete: 503, and the challenge stays', async (verb) => {
    const device = await server.device()
    const challenge = await device.challenge()
    faults.set(verb, 'before')
    expectNamed(await device.complete(challenge), 'Unavailable')
    faults.clear()
    expect((await device.complete(challenge)).status).toBe(200)
  })

  it('SL03 a status provider that refuses a renewal revokes the attestations of that key', async () => {
    const [device, other] = [await server.device(), await server.device()]
    const [attestation, others] = [await device.attest(), await other.attest()]
    const renewed = await device.renew(attestation)
    server.double.current = () => undefined
    expectNamed(await device.reissue(renewed), 'PrincipalRevoked')
    server.double.reset()
    expect(await Promise.all([attestation, renewed, others].map(statusOf))).toEqual([1, 1, 0])
  })

  it('a failed revocation is 503, and is completed when the device asks again', async () => {
    const device = await server.device()
    const attestation = await device.attest()
    server.double.current = () => undefined
    for (const verb of ['status_list_bits.update', 'status_list_entries.list', 'status_list_entries.remove']) {
      faults.set(verb, 'before')
      expectNamed(await device.reissue(attestation), 'Unavailable')
      faults.clear()
    }
    expectNamed(await device.reissue(attestation), 'PrincipalRevoked')
    expect(await statusOf(attestation)).toBe(1)
  })
})

describe('a list', () => {
  it('SL11 is not accepted as an attestation', async () => {
    const device = await server.device()
    const { uri } = getStatusListFromJWT(await device.attest())
    expectNamed(await device.reissue(await (await fetch(uri)).text()), 'AttestationInvalid')
  })
})
