import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { JsonValue } from '../../json.js'
import type { RefreshFamily } from '../../storage/ports.js'
import { matches } from './matches.js'
import type { Describe, Subject } from './subject.js'

/** The families of the store under test, and a new one. */
const prepare = ({ backend, clock }: Subject) => {
  const families = () => backend().refreshFamilies<JsonValue>('contract_families')
  const newFamily = (): RefreshFamily<JsonValue> => ({
    grant: { sub: 'alice' },
    current: 'h1',
    absoluteExpiry: clock() + 1_000_000,
  })
  return { families, newFamily }
}

const endCases = (subject: Subject, describe: Describe): void => {
  const { clock, pass } = subject
  const { families, newFamily } = prepare(subject)
  describe('refresh families', (it) => {
    it('lets no rotation pass the absolute expiry', async () => {
      const id = randomUUID()
      await families().start(id, { ...newFamily(), absoluteExpiry: clock() + 150_000 }, 100)
      pass(90)
      const rotation = { presented: 'h1', successor: { hash: 'h2', salt: 's' }, idleTtlSeconds: 100 }
      equal((await families().rotate(id, rotation)).outcome, 'won')
      pass(59)
      ok((await families().find(id)) !== undefined)
      pass(1)
      equal(await families().find(id), undefined)
      deepEqual(await families().rotate(id, { presented: 'h2', idleTtlSeconds: 100 }), { outcome: 'unknown' })
    })

    it('starts none past the absolute expiry, and none twice', async () => {
      const [id, other] = [randomUUID(), randomUUID()]
      await families().start(id, { ...newFamily(), absoluteExpiry: clock() + 10_000 }, 100)
      await rejects(families().start(id, newFamily(), 100))
      pass(10)
      equal(await families().find(id), undefined)
      await families().start(other, newFamily(), 100)
      ok((await families().find(other)) !== undefined)
    })

    it('is gone after remove, which may come again', async () => {
      const id = randomUUID()
      await families().start(id, newFamily(), 100)
      await families().remove(id)
      equal(await families().find(id), undefined)
      deepEqual(await families().rotate(id, { presented: 'h1', idleTtlSeconds: 100 }), { outcome: 'unknown' })
      await families().remove(id)
    })

    it('leaves nothing alive when removed and rotated at once', async () => {
      const id = randomUUID()
      await families().start(id, newFamily(), 100)
      const rotation = { presented: 'h1', successor: { hash: 'h2', salt: 's' }, idleTtlSeconds: 100 }
      await Promise.all([families().rotate(id, rotation), families().remove(id), families().rotate(id, rotation)])
      equal(await families().find(id), undefined)
    })
  })
}

const rotationCases = (subject: Subject, describe: Describe): void => {
  const { clock, pass } = subject
  const { families, newFamily } = prepare(subject)
  describe('refresh families', (it) => {
    it('rotates: the successor is current, what it replaced is previous', async () => {
      const id = randomUUID()
      const family = newFamily()
      await families().start(id, family, 100)
      deepEqual(await families().find(id), family)
      pass(10)
      const rotated = {
        ...family,
        current: 'h2',
        previous: { hash: 'h1', salt: 's2', rotatedAt: clock() },
      }
      const rotation = { presented: 'h1', successor: { hash: 'h2', salt: 's2' }, idleTtlSeconds: 100 }
      deepEqual(await families().rotate(id, rotation), { outcome: 'won', record: rotated })
      deepEqual(await families().find(id), rotated)
      deepEqual(await families().rotate(id, rotation), { outcome: 'replayed', record: rotated })
      deepEqual(await families().find(id), rotated)
    })

    it('without a successor keeps the token and restarts its idle time', async () => {
      const id = randomUUID()
      const family = newFamily()
      await families().start(id, family, 100)
      pass(99)
      const rotation = { presented: 'h1', idleTtlSeconds: 100 }
      deepEqual(await families().rotate(id, rotation), { outcome: 'won', record: family })
      pass(99)
      deepEqual(await families().rotate(id, rotation), { outcome: 'won', record: family })
      pass(100)
      equal(await families().find(id), undefined)
      deepEqual(await families().rotate(id, rotation), { outcome: 'unknown' })
    })

    it('replays what never was current', async () => {
      const id = randomUUID()
      const family = newFamily()
      await families().start(id, family, 100)
      const rotation = { presented: 'h0', successor: { hash: 'h2', salt: 's' }, idleTtlSeconds: 100 }
      deepEqual(await families().rotate(id, rotation), { outcome: 'replayed', record: family })
      deepEqual(await families().find(id), family)
    })

    it('does not let a replay restart the idle time', async () => {
      const id = randomUUID()
      await families().start(id, newFamily(), 100)
      pass(50)
      await families().rotate(id, { presented: 'h0', idleTtlSeconds: 100 })
      pass(50)
      equal(await families().find(id), undefined)
    })

    it('lets one of 50 parallel rotations win, and all see its successor', async () => {
      const id = randomUUID()
      await families().start(id, newFamily(), 100)
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          families().rotate(id, {
            presented: 'h1',
            successor: { hash: `successor ${n}`, salt: `salt ${n}` },
            idleTtlSeconds: 100,
          }),
        ),
      )
      const winner = results.findIndex(({ outcome }) => outcome === 'won')
      equal(results.filter(({ outcome }) => outcome === 'won').length, 1)
      for (const result of results) {
        matches(result, {
          record: { current: `successor ${winner}`, previous: { hash: 'h1', salt: `salt ${winner}` } },
        })
      }
    })
  })
}

/** The part of the storage contract about refresh families. */
export const familyCases = (subject: Subject, describe: Describe): void => {
  endCases(subject, describe)
  rotationCases(subject, describe)
}
