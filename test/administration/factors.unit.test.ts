import { expect, it } from 'vitest'
import { listFactors, personFactorsIn, removeFactor } from '../../core/administration/factors.js'
import { openTestAdministration, operator, testNow } from '../support/administration.js'

const createdAt = testNow / 1000

const openWithFactors = async () => {
  const opened = await openTestAdministration()
  const { administration } = opened
  const factors = personFactorsIn(administration.stores, administration.clock)
  await factors.addPasskey('p-1', {
    ...{ kind: 'passkey', credentialId: 'credential-1', publicKey: 'cHVibGlj', counter: 0, name: 'Phone', createdAt },
    ...{ backupEligible: true, backedUp: true, transports: ['internal'] },
  })
  await factors.putRecoveryCodes('p-1', ['one', 'two'])
  return opened
}

it('lists factors without their secrets', async () => {
  const { administration } = await openWithFactors()
  const listed = await listFactors(administration, operator, { sub: 'p-1' })
  expect(listed).toEqual([
    { id: expect.stringMatching(/^passkey-/), kind: 'passkey', name: 'Phone', backedUp: true, createdAt },
    { id: 'recovery_codes', kind: 'recovery_codes', left: 2, createdAt },
  ])
})

it('refuses an unknown person or factor, and records only the attempt', async () => {
  const { administration, events } = await openWithFactors()
  expect(await listFactors(administration, operator, { username: 'dave' })).toEqual({ refused: 'unknown' })
  const remove = (who: { readonly sub: string }, factor: string) =>
    removeFactor(administration, operator, { who, factor })
  expect(await remove({ sub: 'p-1' }, 'totp')).toEqual({ refused: 'factor' })
  expect(await remove({ sub: 'p-2' }, 'recovery_codes')).toEqual({ refused: 'factor' })
  expect(events.map(({ event }) => event)).toEqual([
    'administration.begun',
    'administration.begun',
    'administration.begun',
  ])
  expect(await remove({ sub: 'p-1' }, 'recovery_codes')).toMatchObject({ kind: 'recovery_codes', left: 2 })
})
