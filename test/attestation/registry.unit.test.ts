import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPrincipalRegistry, type PrincipalRegistry } from '../../core/attestation/principal-registry.js'
import type { Principal } from '../../core/attestation/ports.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { createDevice, decodeJws, doublePlugin, type DeviceOptions } from '../support/clients/attestation.js'
import { startFactorServer, type FactorServer } from '../support/server/factor-server.js'

let server: FactorServer
/** As another process has it. */
let backend: StorageBackend
let registry: PrincipalRegistry
beforeAll(async () => {
  server = await startFactorServer([doublePlugin({ name: 'registry' }), { use: 'plugins/attestation/registry' }])
  backend = await openEmbedded({ path: join(server.directory, 'store'), clock: Date.now })
  registry = createPrincipalRegistry({
    principals: backend.records('principals'),
    principalIndex: backend.records('principal_index'),
    revokedPrincipals: backend.records('revoked_principals'),
    principalOwners: backend.records('principal_owners'),
  })
})
afterAll(async () => {
  await backend[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

let count = 0
const newId = (): string => `device-${String(count++)}`
const newDevice = (options: DeviceOptions = {}) => createDevice(server.issuer, { principal_id: newId(), ...options })
const principalOf = (principalId: string): Principal => ({ subject: 'alice', principalId, principalType: 'device' })
const lastReason = async () => (await server.audit()).at(-1)?.['reason']
const revoked = { status: 403, body: { error: 'access_denied', error_code: 'PrincipalRevoked' } }

describe('the registry', () => {
  it('records the enrolled principal with the granted attributes', async () => {
    const id = newId()
    const device = await newDevice({ principal_id: id, attributes: { model: 'P2' } })
    await device.challenge()
    expect(await registry.find(principalOf(id))).toEqual({})
    await device.attest()
    expect(await registry.find(principalOf(id))).toEqual({
      enrolment: {
        principal: principalOf(id),
        jkt: device.jkt,
        attributes: { model: 'P2' },
        enrolledAt: expect.any(Number),
      },
    })
  })

  it('stops renewals of a revoked principal at once, also between challenge and completion, until it is restored', async () => {
    const id = newId()
    const device = await newDevice({ principal_id: id })
    const attestation = await device.attest()
    const open = (await device.reissue(attestation)).body['challenge']
    expect(await registry.revoke({ principal: principalOf(id), revokedAt: 1 })).toBe(true)
    expect(await registry.revoke({ principal: principalOf(id), revokedAt: 2 })).toBe(false)
    expect(await device.complete(open)).toMatchObject(revoked)
    expect(await device.reissue(attestation)).toMatchObject(revoked)
    expect(await lastReason()).toBe('revoked by command')
    expect(await device.enrol()).toMatchObject(revoked)
    const another = await newDevice({ principal_id: id })
    expect(await another.enrol()).toMatchObject(revoked)
    expect(await registry.restore(principalOf(id))).toBe(true)
    expect(await registry.restore(principalOf(id))).toBe(false)
    expect(decodeJws(await device.renew(attestation)).payload['did']).toBe(id)
  })

  it('revokes one principal, not the same id of another type or subject', async () => {
    const registryOf = { subject: 'alice', principalId: newId(), principalType: 'device' } as const
    const device = await newDevice({ principal_id: registryOf.principalId })
    const service = await newDevice({ principal_id: registryOf.principalId, principal_type: 'service' })
    const [first, second] = [await device.attest(), await service.attest()]
    await registry.revoke({ principal: registryOf, revokedAt: 1 })
    expect(await device.reissue(first)).toMatchObject(revoked)
    expect((await service.reissue(second)).status).toBe(200)
  })

  it('keeps one key per principal: a later full enrolment ends renewals of the earlier key', async () => {
    const id = newId()
    const [before, after] = [await newDevice({ principal_id: id }), await newDevice({ principal_id: id })]
    const first = await before.attest()
    const challenged = await after.challenge()
    expect((await before.reissue(first)).status).toBe(200)
    expect((await after.complete(challenged)).status).toBe(200)
    expect(await before.reissue(first)).toMatchObject(revoked)
    expect(await lastReason()).toBe('another key has replaced it')
  })

  it('refuses the renewal of an unknown principal', async () => {
    const id = newId()
    const device = await newDevice({ principal_id: id })
    const attestation = await device.attest()
    await backend
      .records('principals')
      .remove(
        (await registry.list(undefined, 1000)).find(({ enrolment }) => enrolment?.principal.principalId === id)!.id,
      )
    expect(await device.reissue(attestation)).toMatchObject(revoked)
    expect(await lastReason()).toBe('not enrolled here')
  })

  it('keeps a revocation through enrolments that are written at the same time', async () => {
    const id = newId()
    const principal = principalOf(id)
    const enrol = (jkt: string) => registry.enrol({ principal, jkt, attributes: {}, enrolledAt: 1 })
    await Promise.all([enrol('a'), registry.revoke({ principal, revokedAt: 1 }), enrol('b'), enrol('c')])
    expect((await registry.find(principal)).revokedAt).toBe(1)
  })

  it('lists page by page', async () => {
    const all = await registry.list(undefined, 1000)
    const paged = []
    for (let page = await registry.list(undefined, 2); page.length > 0; page = await registry.list(page.at(-1)?.id, 2))
      paged.push(...page)
    expect(paged).toEqual(all)
    expect(all.length).toBeGreaterThan(4)
  })
})

describe('an id of a device', () => {
  it('belongs to the subject that enrolled it first, which only a caller that passed the second factor learns', async () => {
    const id = newId()
    const device = await newDevice({ principal_id: id })
    await device.attest()
    const squatter = await newDevice({ principal_id: id, subject: 'mallory' })
    expect(await squatter.enrol()).toMatchObject(revoked)
    expect(await lastReason()).toBe('the id belongs to another subject')
    expect((await squatter.enrol({ second_factor: { kind: 'word', value: 'wrong' } })).status).toBe(401)
    expect((await device.enrol()).status).toBe(200)
  })

  it('is given to one of many subjects that enrol it at once', async () => {
    const id = newId()
    const devices = await Promise.all(
      Array.from({ length: 12 }, (_, index) => newDevice({ principal_id: id, subject: `subject-${String(index)}` })),
    )
    const challenges = await Promise.all(devices.map((device) => device.challenge()))
    const answers = await Promise.all(devices.map((device, index) => device.complete(challenges[index])))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.every((status) => [200, 403, 503].includes(status))).toBe(true)
    const again = await Promise.all(devices.map((device, index) => device.complete(challenges[index])))
    expect(again.map(({ status }) => status).sort()).toEqual([401, ...Array<number>(11).fill(403)])
    const winner = statuses.indexOf(200)
    expect(await registry.findOwner(id)).toBe(`subject-${String(winner)}`)
    const enrolled = (await registry.list(undefined, 1000)).filter((one) => one.enrolment?.principal.principalId === id)
    expect(enrolled.map(({ enrolment }) => enrolment?.principal.subject)).toEqual([`subject-${String(winner)}`])
  })

  it('is available to the next subject once released; the previous attestation is not renewed', async () => {
    const id = newId()
    const before = await newDevice({ principal_id: id })
    const attestation = await before.attest()
    const next = await newDevice({ principal_id: id, subject: 'bob' })
    expect(await next.enrol()).toMatchObject(revoked)
    expect(await registry.release({ ...principalOf(id), subject: 'bob' })).toBe(false)
    expect(await registry.release(principalOf(id))).toBe(true)
    expect(await registry.release(principalOf(id))).toBe(false)
    expect(await before.reissue(attestation)).toMatchObject(revoked)
    await next.renew(await next.attest())
    expect(await registry.findOwner(id)).toBe('bob')
    expect(await before.enrol()).toMatchObject(revoked)
  })

  it('stays taken while its subject has it as the other type', async () => {
    const id = newId()
    await (await newDevice({ principal_id: id })).attest()
    const service = await newDevice({ principal_id: id, principal_type: 'service' })
    const attestation = await service.attest()
    expect(await registry.release(principalOf(id))).toBe(true)
    expect(await registry.findOwner(id)).toBe('alice')
    expect((await service.reissue(attestation)).status).toBe(200)
    expect(await registry.release({ ...principalOf(id), principalType: 'service' })).toBe(true)
    expect(await registry.findOwner(id)).toBeUndefined()
  })

  it('is released by repeating the interrupted command, without undoing a revocation', async () => {
    const principal = principalOf(newId())
    await registry.claimId(principal)
    await registry.revoke({ principal, revokedAt: 1 })
    expect(await registry.release(principal)).toBe(true)
    expect(await registry.findOwner(principal.principalId)).toBeUndefined()
    expect((await registry.find(principal)).revokedAt).toBe(1)
  })

  it('may belong to several subjects if the option allows it', async () => {
    await using shared = await startFactorServer([
      doublePlugin({ name: 'registry-shared' }),
      { use: 'plugins/attestation/registry', options: { unique_principal_id: false } },
    ])
    const enrol = async (subject: string) => (await createDevice(shared.issuer, { subject })).attest()
    const attestations = await Promise.all(['alice', 'bob'].map(enrol))
    expect(attestations.map((attestation) => decodeJws(attestation).payload['sub'])).toEqual(['alice', 'bob'])
  })
})
