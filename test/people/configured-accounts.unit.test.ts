import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readInForce, reconcileAccounts } from '../../core/interaction/configured-accounts.js'
import { openAccountStore } from '../../core/interaction/accounts.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { Unavailable } from '../../core/unavailable.js'

it('SE07 what an outage interrupts is ended when the configuration is opened again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signet-configured-'))
  await using backend = await openEmbedded({ path: folder, clock: Date.now })
  const store = openAccountStore(backend)
  const ended: string[] = []
  let down = false
  const end = async (subject: string) => {
    if (down) throw new Unavailable('storage.records', 'unknown', 'down')
    ended.push(subject)
  }
  const audit = { record: async () => {} }
  const settle = async (...accounts: [sub: string, password_hash: string][]) =>
    reconcileAccounts(
      accounts.map(([sub, password_hash]) => ({ username: sub, sub, password_hash, claims: {} })),
      await readInForce(store),
      { store, end, audit, goneSeconds: 60 },
    )

  await settle(['a', 'one'], ['b', 'one'])
  await settle(['a', 'one'], ['b', 'one'])
  expect(ended).toEqual([])
  down = true
  await expect(settle(['a', 'two'], ['b', 'one'])).rejects.toThrow(Unavailable)
  down = false
  await settle(['a', 'two'], ['b', 'one'])
  expect(ended).toEqual(['a'])
  down = true
  await expect(settle(['a', 'two'])).rejects.toThrow(Unavailable)
  down = false
  await settle(['a', 'two'])
  await settle(['a', 'two'])
  expect(ended).toEqual(['a', 'b'])
  await settle(['a', 'two'], ['b', 'one'])
  expect(ended).toEqual(['a', 'b', 'b'])
  await rm(folder, { recursive: true })
})
