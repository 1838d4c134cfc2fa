import { describe, expect, it } from 'vitest'
import { forEachSubject } from '../../core/oauth/subjects/each-subject.js'
import { subjectRecordId } from '../../core/oauth/subjects/subject-records.js'
import { Unavailable } from '../../core/unavailable.js'
import type { RecordStore } from '../../core/storage/ports.js'

interface Owned {
  readonly subject: string
}

/** A collection in memory that can only be listed; `sizes` are numbers of records by subject. */
const collectionOf = (sizes: Readonly<Record<string, number>>): RecordStore<Owned> => {
  const all = Object.entries(sizes).flatMap(([subject, size]) =>
    Array.from({ length: size }, (_, index) => ({ id: subjectRecordId(subject, String(index)), record: { subject } })),
  )
  const inOrder = all.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const list: RecordStore<Owned>['list'] = async (after = '', limit) =>
    inOrder.filter(({ id }) => id > after).slice(0, limit)
  return { list } as RecordStore<Owned>
}

describe('work for each subject of a collection', () => {
  it('is done once for each, however many pages its records are on', async () => {
    const people = Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`person-${String(index)}`, 1]))
    const seen: string[] = []
    await forEachSubject(collectionOf({ ...people, alice: 350, bob: 101 }), async (subject) => void seen.push(subject))
    expect(seen.toSorted()).toEqual([...Object.keys(people), 'alice', 'bob'].toSorted())
  })

  it('is done for a few at a time, and nothing begins after one has failed', async () => {
    const people = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`person-${String(index)}`, 1]))
    const begun: string[] = []
    let [atWork, most] = [0, 0]
    const work = async (subject: string): Promise<void> => {
      begun.push(subject)
      most = Math.max(most, ++atWork)
      await Promise.resolve()
      atWork--
      if (begun.length > 20) throw new Error('down')
    }
    await expect(forEachSubject(collectionOf(people), work)).rejects.toThrow('down')
    expect(most).toBe(64)
    expect(begun).toHaveLength(64)
  })

  it('is done for fewer at a time while the store does not keep up', async () => {
    const people = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`person-${String(index)}`, 1]))
    const done = new Set<string>()
    let atWork = 0
    await forEachSubject(collectionOf(people), async (subject) => {
      const isTooMuch = ++atWork > 20
      await Promise.resolve()
      atWork--
      if (isTooMuch) throw new Unavailable('storage.records', 'no', 'busy')
      done.add(subject)
    })
    expect([...done].toSorted()).toEqual(Object.keys(people).toSorted())
  })

  it('is done again for those whose store could not be reached', async () => {
    const people = collectionOf({ alice: 1, bob: 1, carol: 1 })
    const begun: string[] = []
    await forEachSubject(people, async (subject) => {
      begun.push(subject)
      if (subject === 'bob' && begun.indexOf('bob') === begun.length - 1)
        throw new Unavailable('storage.records', 'unknown', 'slow')
    })
    expect(begun.toSorted()).toEqual(['alice', 'bob', 'bob', 'carol'])
  })

  it('is none for an empty collection', async () => {
    await forEachSubject(collectionOf({}), () => Promise.reject(new Error('none')))
  })
})
