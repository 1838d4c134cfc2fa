/** The making of a key at a ceremony: under the lease of its slot, and with a transcript before it can be used. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Config } from '../../../config/schema.js'
import { createSlotSource } from '../../../core/host/slot-source.js'
import { CeremonyRefused } from '../../../core/key-ceremony/ceremony-refused.js'
import { makeKey, type MakeKeyOptions } from '../../../core/key-ceremony/make-key.js'
import type { Subject } from '../../../core/key-ceremony/subject.js'
import { KeyRefused } from '../../../core/keys/ports.js'
import { noLog } from '../../../core/observe/log.js'
import type { Slot, SlotKey } from '../../../core/keys/slots/slot.js'
import local from '../../../signers/local/index.js'
import { openTestAdministration } from '../../support/administration.js'
import { signerServices } from '../../support/signers/services.js'

const form: Slot = {
  ...{ slot: 'es', alg: 'ES256', signer: 'local', purposes: ['access_token'], ref: 'signet-{kid}' },
  rotate: { every_days: 90, announce_days: 14, ahead: 1, max_keys: 5, by: 'ceremony' },
}

const open = async () => {
  const { stored, administration } = await openTestAdministration()
  const directory = mkdtempSync(join(tmpdir(), 'signet-ceremony-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const provider = await local.create({ directory, create: false }, signerServices)
  const attested: SlotKey[] = []
  const options: MakeKeyOptions = {
    ...{ store: stored.keySlots, clock: administration.clock, deployment: 'https://id.example', provider },
    ...{ isTaken: () => false, signal: new AbortController().signal },
    attest: (key) => Promise.resolve(void attested.push(key)),
  }
  const subject = async (): Promise<Subject> => {
    const record = await stored.keySlots.find('es')
    const begun = record?.keys.find(({ step }) => step === 'planned' || step === 'made')
    const kid = begun?.kid ?? `es-${String(record?.next_number ?? 1)}`
    return { form, slot: form, record, begun, kid, name: `signet-${kid}` }
  }
  const steps = async () => (await stored.keySlots.find('es'))?.keys.map(({ kid, step }) => `${kid} ${step}`)
  return { options, subject, steps, attested, stored, keys: () => readdirSync(directory) }
}

it('a key whose transcript cannot be written is not recorded as proved, and the next ceremony has the same key', async () => {
  const { options, subject, steps, attested, keys } = await open()
  const full = () => Promise.reject(new Error('the disk is full'))
  await expect(makeKey(await subject(), { ...options, attest: full })).rejects.toThrow('the disk is full')
  expect(await steps()).toEqual(['es-1 made'])
  expect(await makeKey(await subject(), options)).toMatchObject({ kid: 'es-1', step: 'proved' })
  expect(attested).toMatchObject([{ kid: 'es-1', thumbprint: expect.any(String) }])
  expect(await steps()).toEqual(['es-1 proved'])
  expect(keys()).toEqual(['signet-es-1'])
})

it('a key that another process made meanwhile is not the one that was confirmed', async () => {
  const { options, subject, steps, attested } = await open()
  const shown = await subject()
  await makeKey(shown, options)
  await expect(makeKey(shown, options)).rejects.toThrow(CeremonyRefused)
  expect(await steps()).toEqual(['es-1 proved'])
  expect(attested).toHaveLength(1)
})

it('a fixed key that another ceremony made meanwhile is not planned again', async () => {
  const { options, stored, keys } = await open()
  const fixed = { alg: form.alg, signer: form.signer, purposes: form.purposes, slot: 'kid:one', ref: 'one' }
  const refused = {
    ...options,
    provider: { ...options.provider, create: () => Promise.reject(new KeyRefused('no room')) },
  }
  const first: Subject = { form: fixed, record: undefined, begun: undefined, kid: 'one', name: 'one' }
  await expect(makeKey(first, refused)).rejects.toThrow('no room')
  const planned: Subject = { ...first, record: await stored.keySlots.find('kid:one') }
  expect(await makeKey(planned, options)).toMatchObject({ kid: 'one', step: 'proved', ref: 'one' })
  await expect(makeKey(planned, options)).rejects.toThrow(CeremonyRefused)
  expect((await stored.keySlots.find('kid:one'))?.keys).toMatchObject([{ kid: 'one', step: 'proved' }])
  expect(keys()).toEqual(['one'])
})

it('a start does not wait for the first key of a slot whose keys ceremonies make', async () => {
  const { stored } = await open()
  const administration = (await openTestAdministration()).administration
  const config = { ...administration.config, keys: [form] } as unknown as Config
  const unexpected = () => Promise.reject(new Error('it waits'))
  const slots = createSlotSource({
    ...{ clock: administration.clock, keySlots: stored.keySlots, replicas: stored.replicas, publications: new Map() },
    ...{ audit: { record: unexpected }, log: noLog, sleep: unexpected },
  })
  await slots.prepare(config, new Map())
  expect(await stored.keySlots.find('es')).toBeUndefined()
})

it('nothing is made once the lease has passed to another process', async () => {
  const { options, subject, steps, stored, keys } = await open()
  const attest = async () => {
    const record = (await stored.keySlots.find('es'))!
    await stored.keySlots.put('es', { ...record, fence: record.fence + 1 })
  }
  await expect(makeKey(await subject(), { ...options, attest })).rejects.toThrow(/changed the slot meanwhile/)
  expect(await steps()).toEqual(['es-1 made'])
  expect(keys()).toEqual(['signet-es-1'])
})
