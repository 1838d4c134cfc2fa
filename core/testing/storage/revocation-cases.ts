import { equal } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Describe, Subject } from './subject.js'

/** The part of the storage contract about items that are ended early. */
export const revocationCases = ({ backend, pass }: Subject, describe: Describe): void => {
  describe('revocations', (it) => {
    const revocations = () => backend().revocations('contract_revocations')

    it('is revoked when any of the ids is, until the time is over', async () => {
      const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()]
      equal(await revocations().isRevoked([a, b]), false)
      await revocations().revoke(b, 60)
      equal(await revocations().isRevoked([a, b]), true)
      equal(await revocations().isRevoked([b]), true)
      equal(await revocations().isRevoked([a, c]), false)
      equal(await revocations().isRevoked([]), false)
      pass(60)
      equal(await revocations().isRevoked([b]), false)
    })

    it('is made longer by a second one, never shorter', async () => {
      const [a, b] = [randomUUID(), randomUUID()]
      await revocations().revoke(a, 60)
      await revocations().revoke(a, 10)
      await revocations().revoke(b, 10)
      await revocations().revoke(b, 60)
      pass(59)
      equal(await revocations().isRevoked([a]), true)
      equal(await revocations().isRevoked([b]), true)
      pass(1)
      equal(await revocations().isRevoked([a, b]), false)
    })

    it('ends what began before a moment, and nothing that began then or later', async () => {
      const [id, other] = [randomUUID(), randomUUID()]
      equal(await revocations().isRevoked([], { id, at: 0 }), false)
      equal(await revocations().endedBefore(id), undefined)
      await revocations().revokeBefore(id, 1_000_500, 60)
      equal(await revocations().endedBefore(id), 1_000_500)
      equal(await revocations().isRevoked([], { id, at: 1_000_499 }), true)
      equal(await revocations().isRevoked([other], { id, at: 1_000_499 }), true)
      equal(await revocations().isRevoked([], { id, at: 1_000_500 }), false)
      equal(await revocations().isRevoked([other], { id: other, at: 0 }), false)
      await revocations().revoke(other, 60)
      equal(await revocations().isRevoked([other], { id, at: 1_000_500 }), true)
      pass(60)
      equal(await revocations().isRevoked([], { id, at: 1_000_499 }), false)
      equal(await revocations().endedBefore(id), undefined)
    })

    it('never moves the moment back, and a second one makes it longer, never shorter', async () => {
      const id = randomUUID()
      await revocations().revokeBefore(id, 2_000, 60)
      await revocations().revokeBefore(id, 1_000, 10)
      equal(await revocations().endedBefore(id), 2_000)
      pass(30)
      await revocations().revokeBefore(id, 3_000, 10)
      equal(await revocations().endedBefore(id), 3_000)
      await revocations().revokeBefore(id, 1_500, 90)
      equal(await revocations().endedBefore(id), 3_000)
      pass(89)
      equal(await revocations().isRevoked([], { id, at: 2_999 }), true)
      pass(1)
      equal(await revocations().isRevoked([], { id, at: 2_999 }), false)
    })
  })
}
