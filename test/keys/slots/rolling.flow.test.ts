import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../support/free-port.js'
import { prepareRestarts, type Json } from '../../support/server/reloading.js'
import { openTestRecords } from '../../support/stores/test-stores.js'
import type { SlotRecord } from '../../../core/keys/slots/slot.js'
import { look, rotate } from './rotation.js'

const slot = { slot: 'es', alg: 'ES256', signer: 'local', rotate }

it('KR92 a slot waits for a replica that has no slot in its configuration yet', async () => {
  const time = { now: Date.parse('2026-11-26T00:00:00Z') }
  const begin = time.now
  const deployment = await prepareRestarts({ clock: () => time.now, monotonic: () => time.now - begin })
  onTestFinished(() => deployment[Symbol.asyncDispose]())
  await using old = await deployment.start()
  const port = await freePort()
  let fixed: readonly Json[] = []
  await deployment.edit((written) => {
    fixed = written['keys'] as readonly Json[]
    return { ...written, listen: { host: '127.0.0.1', port }, keys: [...fixed, slot] }
  })
  await using upgraded = await deployment.start()
  const keyOf = async () => {
    await using store = await openTestRecords(`${old.directory}/store`, () => time.now)
    return (await store.records<SlotRecord>('key_slots').find('es'))?.keys[0]
  }
  await look(time, old, upgraded)
  await look(time, old, upgraded)
  expect(await keyOf()).toMatchObject({ kid: 'es-1', step: 'published' })
  expect(await keyOf()).not.toHaveProperty('announced_at')

  const oldPort = await freePort()
  await deployment.edit((written) => ({ ...written, listen: { host: '127.0.0.1', port: oldPort } }))
  await old[Symbol.asyncDispose]()
  await using reloaded = await deployment.start()
  await look(time, reloaded, upgraded)
  await look(time, reloaded, upgraded)
  expect(await keyOf()).toHaveProperty('announced_at')
})
