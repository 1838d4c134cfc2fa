import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { addBits, createBitmap } from '../../core/attestation/status-list/bits.js'
import { createIndexOrder, indexCount } from '../../core/attestation/status-list/index-order.js'
import { createStatusIndexes, type ListInUse } from '../../core/attestation/status-list/indexes.js'
import { createListIds } from '../../core/attestation/status-list/list-ids.js'
import { createListsHere } from '../../core/attestation/status-list/lists-here.js'
import { createListPublication, type SignedList } from '../../core/attestation/status-list/publication.js'
import { createTokenStatus, type StatusEntry } from '../../core/attestation/status-list/token-status.js'
import { Durations } from '../../core/observe/counts.js'
import { noLog } from '../../core/observe/log.js'
import type { RecordStore, StorageBackend } from '../../core/storage/ports.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { Unavailable } from '../../core/unavailable.js'
import { readStatus } from '../support/clients/status-list.js'
import { openChaosRing } from '../support/signers/signer-ring.js'

let now = Date.now()
const clock = (): number => now
const later = (seconds: number): void => void (now += seconds * 1000)

let directory: string
let backend: StorageBackend
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signet-lists-'))
  backend = await openEmbedded({ path: join(directory, 'store'), clock })
})
afterAll(async () => {
  await backend[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const tokenSeconds = 3600
const ids = () => createListIds(backend.records('secrets'))
const allocator = (of: RecordStore<ListInUse>) => createStatusIndexes({ lists: of, ids: ids(), clock, tokenSeconds })

const down = (): Unavailable => new Unavailable('storage.double', 'no', 'connection refused')

const opened: AsyncDisposable[] = []
afterEach(async () => {
  for (const ring of opened.splice(0)) await ring[Symbol.asyncDispose]()
})

/** A replica: lists, publication and a ring of its own over the shared store. */
const startReplica = async ({ ttlSeconds = 60 } = {}) => {
  const { open } = await openChaosRing(['a1'])
  const ring = await open()
  const faults = { isStoreDown: false, isAuditDown: false, isSignerDown: false }
  let reads = 0
  const sound = backend.records<string>('status_list_bits')
  const bits: RecordStore<string> = {
    ...sound,
    list: (after, limit) => {
      reads++
      return faults.isStoreDown ? Promise.reject(down()) : sound.list(after, limit)
    },
  }
  const here = createListsHere(bits, clock)
  const signed: unknown[] = []
  const publication = createListPublication({
    ring: { sign: (order) => (faults.isSignerDown ? Promise.reject(down()) : ring.sign(order)) },
    ...{
      lists: here,
      ids: ids(),
      alg: 'ES256',
      issuer: 'https://id.example',
      ttlSeconds,
      clock,
      log: noLog,
      builds: new Durations(),
    },
    audit: {
      record: (...recorded) => {
        if (faults.isAuditDown) return Promise.reject(down())
        signed.push(...recorded)
        return Promise.resolve()
      },
    },
  })
  const status = createTokenStatus({
    ...{ entries: backend.records<StatusEntry>('status_list_entries'), bits, tokenSeconds, clock },
    ...{
      nextIndex: allocator(backend.records('status_lists')),
      revoked: (list, indexes) => here.revoked(list, indexes),
    },
  })
  opened.push(ring)
  return { publication, status, faults, signed, reads: () => reads }
}

const bitOf = ({ body }: SignedList, idx: number): number => readStatus(body.toString(), idx)
const claimsOf = ({ body }: SignedList): Record<string, unknown> =>
  JSON.parse(Buffer.from(String(body.toString().split('.')[1]), 'base64url').toString()) as Record<string, unknown>
const jkt = 'J'.repeat(43)
let principals = 0
const newPrincipal = () =>
  ({ subject: 'alice', principalId: `listed-${String(principals++)}`, principalType: 'device' }) as const

describe('the list of a replica', () => {
  it('SL02 has a revocation at once in the process that made it, and elsewhere after five seconds', async () => {
    const [here, elsewhere] = [await startReplica(), await startReplica()]
    const principal = newPrincipal()
    const { list, idx } = await here.status.assign(principal, jkt)
    for (const { publication } of [here, elsewhere]) expect(bitOf(await publication.get(list), idx)).toBe(0)
    await here.status.revoke(principal)
    expect(bitOf(await here.publication.get(list), idx)).toBe(1)
    expect(bitOf(await elsewhere.publication.get(list), idx)).toBe(0)
    later(5)
    expect(bitOf(await elsewhere.publication.get(list), idx)).toBe(1)
  })

  it('SL02 revokes only the given keys, and no other principal', async () => {
    const replica = await startReplica()
    const [principal, other] = [newPrincipal(), newPrincipal()]
    const assigned = [
      await replica.status.assign(principal, jkt),
      await replica.status.assign(principal, 'K'.repeat(43)),
      await replica.status.assign(other, jkt),
    ]
    await replica.status.revoke(principal, (of) => of === jkt)
    const states = await Promise.all(
      assigned.map(async ({ list, idx }) => bitOf(await replica.publication.get(list), idx)),
    )
    expect(states).toEqual([1, 0, 0])
  })

  it('SL08 is signed once, with one store read, however many requests come', async () => {
    const replica = await startReplica()
    const { list } = await replica.status.assign(newPrincipal(), jkt)
    const first = await Promise.all(Array.from({ length: 100 }, async () => replica.publication.get(list)))
    expect(new Set(first).size).toBe(1)
    for (let n = 0; n < 4; n++) {
      later(1)
      // No promise: from memory.
      expect(replica.publication.get(list)).toBe(first[0])
    }
    expect([replica.reads(), replica.signed.length]).toEqual([1, 1])
    later(1)
    expect(await replica.publication.get(list)).toBe(first[0])
    expect([replica.reads(), replica.signed.length]).toEqual([2, 1])
    expect(replica.signed[0]).toMatchObject({ event: 'status_list.signed', list, signatures: [{ kid: 'a1' }] })
  })

  it('SL05 does not ask the store about unknown ids', async () => {
    const replica = await startReplica()
    for (const id of ['', 'x', 'A'.repeat(32), '_'.repeat(32)])
      await expect(async () => replica.publication.get(id)).rejects.toMatchObject({ status: 404 })
    expect([replica.reads(), replica.signed.length]).toEqual([0, 0])
  })

  it('SL10 can be signed with every second token revoked', async () => {
    const replica = await startReplica()
    const { list } = await replica.status.assign(newPrincipal(), jkt)
    const order = createIndexOrder(Buffer.from('half'))
    const revoked = Array.from({ length: indexCount / 2 }, (_, position) => order(position))
    const bitmap = createBitmap()
    addBits(bitmap, revoked)
    const bits = backend.records<string>('status_list_bits')
    for (let part = 0; part < 128; part++) {
      const record = bitmap.bytes.subarray(part * 1024, (part + 1) * 1024).toString('base64')
      await bits.put(`${list}.${part.toString(16).padStart(2, '0')}`, record)
    }
    const whole = getListFromStatusListJWT((await replica.publication.get(list)).body.toString())
    expect(whole.statusList.filter((status) => status === 1)).toHaveLength(indexCount / 2)
    expect(revoked.slice(0, 1000).every((idx) => whole.getStatus(idx) === 1)).toBe(true)
  })
})

describe('while something is down', () => {
  it.each(['isStoreDown', 'isAuditDown', 'isSignerDown'] as const)(
    'SF06 (%s) the last list is served until it expires, then 503, until the store is back',
    async (fault) => {
      const replica = await startReplica()
      const { list } = await replica.status.assign(newPrincipal(), jkt)
      const last = await replica.publication.get(list)
      const { iat, exp } = claimsOf(last)
      expect(Number(exp) - Number(iat)).toBe(180)
      replica.faults[fault] = true
      later(Number(exp) - Math.floor(now / 1000) - 1)
      expect(await replica.publication.get(list)).toBe(last)
      later(2)
      await expect(async () => replica.publication.get(list)).rejects.toBeInstanceOf(Unavailable)
      replica.faults[fault] = false
      later(1)
      expect(claimsOf(await replica.publication.get(list))['iat']).toBe(Math.floor(now / 1000))
    },
  )

  it('SF06 retries at most once a second', async () => {
    const replica = await startReplica()
    const { list } = await replica.status.assign(newPrincipal(), jkt)
    await replica.publication.get(list)
    replica.faults.isStoreDown = true
    later(6)
    for (let n = 0; n < 50; n++) await replica.publication.get(list)
    expect(replica.reads()).toBe(2)
    later(1)
    await replica.publication.get(list)
    expect(replica.reads()).toBe(3)
  })
})
