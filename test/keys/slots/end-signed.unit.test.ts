import { expect, it } from 'vitest'
import { createEndPage } from '../../../core/collections/signed-by-key.js'
import { notifyClientsIn } from '../../../core/collections/person-records.js'
import { openStatusLists } from '../../../core/collections/status-lists.js'
import { sessionEntryId } from '../../../core/interaction/session.js'
import { endSigned, type EndSignedOptions } from '../../../core/keys/slots/end-signed.js'
import { newSlotRecord, type SlotKey, type SlotRecord } from '../../../core/keys/slots/slot.js'
import { grantEntryId } from '../../../core/oauth/grants/grant-index.js'
import { signInOf } from '../../../core/oauth/subjects/subject-end.js'
import { Unavailable } from '../../../core/unavailable.js'
import { openTestAdministration, testNow } from '../../support/administration.js'

const never = new AbortController().signal
const minute = 60_000
const extra = 'attestation: { status_list: { ttl_secs: 60 } }\n'

const withdrawn: SlotKey = {
  ...{ number: 1, kid: 'es-1', alg: 'ES256', signer: 'local', purposes: ['access_token', 'attestation'] },
  ...{ name: 'signet-es-1', step: 'withdrawn', attempts: 1, planned_at: 0, not_before: testNow - 60 * minute },
  ...{ ended_at: testNow, ending: { stage: 'grants', people: 0, attestations: 0 } },
}

/** A deployment whose key es-1 was withdrawn a moment ago. */
const prepare = async (key: Partial<SlotKey> = {}) => {
  const { administration, stored, events, limitAudit } = await openTestAdministration({ extra })
  const { config, stores, audit } = administration
  const record: SlotRecord = { ...newSlotRecord('es', testNow), keys: [{ ...withdrawn, ...key }] }
  await stored.keySlots.put('es', record)
  const over: unknown[] = []
  const notifyClients = notifyClientsIn(stores, config, administration.clock)
  const endPage = createEndPage({ kept: stored, config: () => config, audit, notifyClients })
  const options: EndSignedOptions = {
    store: stored.keySlots,
    endPage,
    over: (slot, { kid, ending }) => Promise.resolve(void over.push({ slot, kid, ...ending })),
  }
  const addGrant = async (subject: string, at: number): Promise<void> => {
    const entry = { grantId: `grant-of-${subject}`, clientId: 'web', subject, scope: [], resource: [] }
    const record = { ...entry, authTime: at / 1000, grantedAt: at / 1000 }
    await stored.grantIndex.put(grantEntryId(entry), record, { ttlSeconds: 3600 })
  }
  const addSession = async (subject: string, at: number): Promise<void> => {
    const entry = { sid: `sid-of-${subject}`, subject, authTime: at / 1000, amr: ['pwd'], key: `key-of-${subject}` }
    await stored.sessionIndex.put(sessionEntryId(entry), entry, { ttlSeconds: 3600 })
  }
  const isOver = (subject: string, at: number) => stored.revocations.isRevoked([], signInOf(subject, at / 1000))
  const end = (more: Partial<EndSignedOptions> = {}, signal = never) =>
    endSigned({ ...options, ...more }, [record], signal)
  const keyOf = async () => (await stored.keySlots.find('es'))?.keys[0]
  return { config, stored, events, limitAudit, over, endPage, addGrant, addSession, isOver, end, keyOf }
}

it('KR90 what people opened before the withdrawal of a key ends, once for each, and nothing that they opened since', async () => {
  const { addGrant, addSession, isOver, end, over, events, keyOf } = await prepare()
  await addGrant('p-1', testNow - minute)
  await addSession('p-1', testNow - minute)
  await addSession('p-2', testNow - 2 * minute)
  await addSession('p-3', testNow + minute)
  await end()
  expect(await Promise.all(['p-1', 'p-2'].map((sub) => isOver(sub, testNow - minute)))).toEqual([true, true])
  expect(await isOver('p-1', testNow + minute)).toBe(false)
  expect(await isOver('p-3', testNow + minute)).toBe(false)
  expect(events.map(({ event, sub, kid }) => [event, sub, kid])).toEqual([
    ['subject.ended', 'p-1', 'es-1'],
    ['subject.ended', 'p-2', 'es-1'],
  ])
  expect(over).toEqual([{ slot: 'es', kid: 'es-1', stage: 'over', people: 2, attestations: 0 }])
  expect(await keyOf()).not.toHaveProperty('ending')
  await end()
  expect(over).toHaveLength(1)
})

it('KR90 attestations of the time of the key are revoked, and no later or earlier ones', async () => {
  const { config, stored, end, over } = await prepare()
  const principal = { subject: 'p-1', principalId: 'd-1', principalType: 'device' } as const
  const assignAt = async (at: number) => {
    const lists = openStatusLists(config, stored, () => at)
    return lists!.tokenStatus.assign(principal, 'J'.repeat(43))
  }
  const [before, during, after] = [
    await assignAt(testNow - 120 * minute),
    await assignAt(testNow - 30 * minute),
    await assignAt(testNow + 1),
  ]
  await end()
  const left = (await stored.statusListEntries.list(undefined, 10)).map(({ record: { list, idx } }) => ({ list, idx }))
  expect(left).toHaveLength(2)
  expect(left).toEqual(expect.arrayContaining([before, after]))
  expect(left).not.toContainEqual(during)
  expect((await stored.statusListBits.list(undefined, 10)).map(({ id }) => id).join()).toContain(during.list)
  expect(over).toMatchObject([{ attestations: 1, people: 0 }])
})

it('a key that signs nothing for people ends nothing of theirs', async () => {
  const { addSession, isOver, end, over } = await prepare({ purposes: ['userinfo'] })
  await addSession('p-1', testNow - minute)
  await end()
  expect(await isOver('p-1', testNow - minute)).toBe(false)
  expect(over).toMatchObject([{ people: 0, attestations: 0 }])
})

it('KR90 an end goes on from its last page after a stop, an outage or another replica', async () => {
  const { addGrant, isOver, end, endPage, over, events, limitAudit, keyOf } = await prepare()
  const people = Array.from({ length: 450 }, (_, index) => `p-${String(index)}`)
  await Promise.all(people.map((sub) => addGrant(sub, testNow - minute)))
  const stopping = new AbortController()
  await end({ endPage: (key) => endPage(key).finally(() => stopping.abort()) }, stopping.signal)
  expect((await keyOf())?.ending).toMatchObject({ stage: 'grants', people: 200 })

  limitAudit(100)
  await expect(end()).rejects.toThrow(Unavailable)
  expect((await keyOf())?.ending).toMatchObject({ people: 200 })
  limitAudit(Infinity)

  // Another replica does the next page in the middle of ours: it goes on, and we stop.
  const other = async () => end()
  let pages = 0
  await end({
    endPage: async (key) => {
      pages++
      const ended = await endPage(key)
      await other()
      return ended
    },
  })
  expect(pages).toBe(1)
  expect(over).toMatchObject([{ stage: 'over' }])
  expect(await Promise.all(people.map((sub) => isOver(sub, testNow - minute)))).not.toContain(false)
  expect(new Set(events.map(({ sub }) => sub)).size).toBe(450)
})

it('an end is recorded before its mark goes, and again when that could not be stored', async () => {
  const { end, keyOf, over } = await prepare()
  await expect(end({ over: () => Promise.reject(new Unavailable('audit', 'no', 'full')) })).rejects.toThrow('full')
  expect((await keyOf())?.ending).toMatchObject({ stage: 'over' })
  await end()
  expect(over).toHaveLength(1)
  expect(await keyOf()).not.toHaveProperty('ending')
})
