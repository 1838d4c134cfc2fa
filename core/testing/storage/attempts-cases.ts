import { deepEqual, equal } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createAttemptLimiter } from '../../storage/attempts.js'
import type { AttemptPolicy, EphemeralBackend } from '../../storage/ports.js'
import type { Describe, Subject } from './subject.js'

const policy: AttemptPolicy = { free: 3, baseDelaySeconds: 2, maxDelaySeconds: 10, forgetAfterSeconds: 100 }
const allowed = { allowed: true, retryAfterSeconds: 0 }
const refused = (retryAfterSeconds: number) => ({ allowed: false, retryAfterSeconds })

/** The limiter on the counters of the store under test, and what takes attempts from it. */
const prepare = ({ backend }: Subject<EphemeralBackend>) => {
  const attempts = () => createAttemptLimiter(backend().counters('contract_counters'))
  const take = (id: string) => attempts().take('n', id, policy)
  const takeSome = async (id: string, count: number) => {
    const taken = []
    while (taken.length < count) taken.push(await take(id))
    return taken
  }
  return { attempts, take, takeSome }
}

const givingBackCases = (subject: Subject<EphemeralBackend>, describe: Describe): void => {
  const { pass } = subject
  const { attempts, take, takeSome } = prepare(subject)
  describe('attempts', (it) => {
    it('gives back one attempt, as if it had not come', async () => {
      const id = randomUUID()
      await takeSome(id, 1)
      pass(60)
      for (let time = 0; time < 5; time++) {
        deepEqual(await take(id), allowed)
        await attempts().giveBack('n', id)
      }
      pass(39)
      deepEqual(await takeSome(id, 3), Array(3).fill(allowed))
      deepEqual(await take(id), refused(2))
      await attempts().giveBack('n', id)
      deepEqual(await take(id), allowed)
      deepEqual(await take(id), refused(2))
      pass(200)
      await attempts().giveBack('n', id)
      await takeSome(id, 1)
      pass(60)
      await takeSome(id, 1)
      await attempts().giveBack('n', id)
      pass(40)
      deepEqual(await takeSome(id, 4), Array(4).fill(allowed))
    })

    it('gives back an attempt without a longer delay than before it', async () => {
      const id = randomUUID()
      await takeSome(id, 4)
      pass(2)
      deepEqual(await take(id), allowed)
      await attempts().giveBack('n', id)
      // The delay of the four has passed, and the one given back does not extend it.
      deepEqual(await take(id), allowed)
      deepEqual(await take(id), refused(4))
      pass(4)
      deepEqual(await take(id), allowed)
      deepEqual(await take(id), refused(8))
    })

    it('gives back each of 50 parallel attempts, and none that was not taken', async () => {
      const id = randomUUID()
      const wide = { ...policy, free: 100 }
      const takeMany = (count: number) =>
        Promise.all(Array.from({ length: count }, () => attempts().take('n', id, wide)))
      await takeMany(50)
      await Promise.all(Array.from({ length: 60 }, () => attempts().giveBack('n', id)))
      // Limited to what one count allows, because each caller waits for all before it.
      const taken = [...(await takeMany(50)), ...(await takeMany(50)), ...(await takeMany(50))]
      equal(taken.filter((attempt) => attempt.allowed).length, 101)
    })
  })
}

const countingCases = (subject: Subject<EphemeralBackend>, describe: Describe): void => {
  const { clock, pass } = subject
  const { attempts, take, takeSome } = prepare(subject)
  describe('attempts', (it) => {
    it('gives some for nothing, then delays that double up to the longest', async () => {
      const id = randomUUID()
      deepEqual(await takeSome(id, 3), Array(3).fill(allowed))
      deepEqual(await take(id), allowed)
      for (const delay of [2, 4, 8, 10, 10]) {
        deepEqual(await take(id), refused(delay))
        pass(delay - 1)
        deepEqual(await take(id), refused(1))
        pass(1)
        deepEqual(await take(id), allowed)
      }
    })

    it('rounds what is left up to whole seconds', async () => {
      const id = randomUUID()
      await takeSome(id, 4)
      pass(0.5)
      deepEqual(await take(id), refused(2))
      pass(1.499)
      deepEqual(await take(id), refused(1))
      pass(0.001)
      deepEqual(await take(id), allowed)
    })

    it('forgets after a success, and after a long time', async () => {
      const id = randomUUID()
      await takeSome(id, 4)
      deepEqual(await take(id), refused(2))
      await attempts().clear('n', id)
      deepEqual(await takeSome(id, 4), Array(4).fill(allowed))
      deepEqual(await take(id), refused(2))
      pass(100)
      deepEqual(await takeSome(id, 4), Array(4).fill(allowed))
      await attempts().clear('n', randomUUID())
    })

    it('is not made longer by a clock that is set back', async () => {
      const id = randomUUID()
      await takeSome(id, 4)
      const before = clock()
      pass(-3600)
      deepEqual(await take(id), refused(2))
      pass(3600)
      equal(clock(), before)
    })

    it('counts each of 50 parallel attempts: no more than the free ones and one pass', async () => {
      const id = randomUUID()
      const taken = await Promise.all(Array.from({ length: 50 }, () => take(id)))
      equal(taken.filter((attempt) => attempt.allowed).length, 4)
      pass(2)
      const next = await Promise.all(Array.from({ length: 50 }, () => take(id)))
      equal(next.filter((attempt) => attempt.allowed).length, 1)
    })

    it('keeps namespaces and ids apart, whatever a person types', async () => {
      const id = randomUUID()
      for (const name of [id, `${id}\0`, `${id}__proto__`, id.repeat(1000), `${id}\ud800`, `${id}\ufffd`]) {
        deepEqual(await takeSome(name, 4), Array(4).fill(allowed))
        deepEqual(await take(name), refused(2))
        deepEqual(await attempts().take('m', name, policy), allowed)
      }
    })
  })
}

/** The part of the storage contract that counts guesses. */
export const attemptCases = (subject: Subject<EphemeralBackend>, describe: Describe): void => {
  givingBackCases(subject, describe)
  countingCases(subject, describe)
}
