import { deepEqual, equal, rejects } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { EphemeralBackend } from '../../storage/ports.js'
import { oddRecords, type Describe, type Subject } from './subject.js'

/** The counters of the store under test, with functions that read and change them. */
const prepare = ({ backend }: Subject<EphemeralBackend>) => {
  const counters = () => backend().counters('contract_counters')
  const peek = (id: string, namespace = 'n') =>
    counters().update<unknown, unknown>(namespace, id, (current) => ({ result: current }))
  const set = (id: string, state: unknown, seconds = 60) =>
    counters().update(id === '' ? 'm' : 'n', id, (_, now) => ({
      result: undefined,
      write: { state, forgetAt: now + seconds * 1000 },
    }))
  const add = (from: Pick<EphemeralBackend, 'counters'>, id: string) =>
    from.counters('contract_counters').update<number, number>('n', id, (current = 0, now) => ({
      result: current + 1,
      write: { state: current + 1, forgetAt: now + 60_000 },
    }))
  return { counters, peek, set, add }
}

const concurrentCases = (subject: Subject<EphemeralBackend>, describe: Describe): void => {
  const { backend, open, pass } = subject
  const { counters, peek, set, add } = prepare(subject)
  describe('counters', (it) => {
    it('counts each of 50 parallel callers once, also of two backends and when an old state just expired', async () => {
      const id = randomUUID()
      await using other = await open()
      await set(id, 1000, 1)
      pass(1)
      const counted = await Promise.all(Array.from({ length: 50 }, (_, n) => add(n % 2 === 0 ? backend() : other, id)))
      deepEqual(
        counted.toSorted((a, b) => a - b),
        Array.from({ length: 50 }, (_, n) => n + 1),
      )
      equal(await peek(id), 50)
    })

    it('puts a change and a removal that cross in one order', async () => {
      const id = randomUUID()
      await set(id, 1)
      let asked = 0
      const late: Promise<void>[] = []
      // Another caller removes the state during the first call.
      const result = counters().update<number, string>('n', id, (current, now) => {
        if (asked++ === 0) late.push(counters().update('n', id, () => ({ result: undefined, write: null })))
        return { result: String(current), write: { state: (current ?? 0) + 1, forgetAt: now + 60_000 } }
      })
      const first = await result
      await Promise.all(late)
      // Either the removal came first and the count restarts, or it came last.
      equal(await peek(id), first === '1' ? undefined : 1)
    })
  })
}

const stateCases = (subject: Subject<EphemeralBackend>, describe: Describe): void => {
  const { backend, clock, pass } = subject
  const { counters, peek, set, add } = prepare(subject)
  describe('counters', (it) => {
    it('keeps a state until its time, and shows it to the next caller with the time of the store', async () => {
      const id = randomUUID()
      equal(await peek(id), undefined)
      await set(id, { a: [1, 2] })
      deepEqual(await peek(id), { a: [1, 2] })
      equal(await counters().update('n', id, (_, now) => ({ result: Math.abs(now - clock()) < 1 })), true)
      pass(59.999)
      deepEqual(await peek(id), { a: [1, 2] })
      pass(0.001)
      equal(await peek(id), undefined)
      await set(id, 1, 10)
      await set(id, 2, 100)
      pass(99)
      equal(await peek(id), 2)
      await set(id, 3, 1)
      pass(1)
      equal(await peek(id), undefined)
    })

    it('shows until when a state is kept', async () => {
      const id = randomUUID()
      const keptUntil = () => counters().update('n', id, (_, now, forgetAt) => ({ result: forgetAt && forgetAt - now }))
      equal(await keptUntil(), undefined)
      await set(id, 1, 60)
      const kept = (await keptUntil()) ?? 0
      equal(Math.abs(kept - 60_000) <= 1, true)
      pass(60)
      equal(await keptUntil(), undefined)
    })

    it('removes a state, and one that comes back starts from nothing', async () => {
      const id = randomUUID()
      const remove = () => counters().update('n', id, () => ({ result: 'gone', write: null }))
      equal(await remove(), 'gone')
      await set(id, 1)
      equal(await remove(), 'gone')
      equal(await peek(id), undefined)
      equal(await add(backend(), id), 1)
    })

    it('changes nothing when the caller throws, and passes on what it throws', async () => {
      const id = randomUUID()
      await set(id, 1)
      const failure = new RangeError('of the caller')
      const failing = counters().update('n', id, () => {
        throw failure
      })
      await rejects(failing, (error) => error === failure)
      equal(await peek(id), 1)
    })

    for (const [kind, state] of oddRecords) {
      it(`keeps ${kind} as it is`, async () => {
        const id = randomUUID()
        await set(id, state)
        deepEqual(await peek(id), state)
      })
    }

    it('keeps namespaces and ids apart, of any length', async () => {
      const id = randomUUID()
      const pairs = [
        ['a', `b${id}`],
        ['ab', id],
        ['', `ab${id}`],
        [`ab${id}`, ''],
        ['1:a', `b${id}`],
        [`a\0b`, id],
        ['a', `\0b${id}`],
        [id.repeat(500), id.repeat(500)],
        [id.repeat(500), `${id.repeat(500)}x`],
      ] as const
      for (const [index, [namespace, name]] of pairs.entries())
        await counters().update(namespace, name, (_, now) => ({
          result: undefined,
          write: { state: index, forgetAt: now + 60_000 },
        }))
      for (const [index, [namespace, name]] of pairs.entries()) equal(await peek(name, namespace), index)
    })
  })
}

/** The part of the storage contract about states that many change concurrently. */
export const counterCases = (subject: Subject<EphemeralBackend>, describe: Describe): void => {
  concurrentCases(subject, describe)
  stateCases(subject, describe)
}
