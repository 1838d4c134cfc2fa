import { equal } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Describe, Subject } from './subject.js'

/** The part of the storage contract on what is ended before its time. */
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
  })
}
