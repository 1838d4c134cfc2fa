import { generateKeyPairSync, sign as signWith } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { KeyRefused, type KeyTags, type Signer, type SignerProvider } from '../../../core/keys/ports.js'
import { newSlotRecord, overlapMs, type Slot, type SlotKey, type SlotRecord } from '../../../core/keys/slots/slot.js'
import { LeaseLost, takeLease, writeStep } from '../../../core/keys/slots/slot-store.js'
import { SlotStopped, takeStep, type StepOptions } from '../../../core/keys/slots/take-step.js'
import type { RecordStore } from '../../../core/storage/ports.js'
import { Unavailable } from '../../../core/unavailable.js'

const now = Date.parse('2026-11-26T00:00:00Z')
const slot: Slot = {
  slot: 'ed',
  alg: 'EdDSA',
  signer: 'hsm',
  purposes: ['access_token'],
  ref: 'signet-{kid}',
  rotate: { every_days: 90, announce_days: 14, ahead: 1, max_keys: 5 },
}
const key = (number: number, more: Partial<SlotKey> = {}): SlotKey => ({
  number,
  kid: `ed-${String(number)}`,
  alg: 'EdDSA',
  signer: 'hsm',
  purposes: ['access_token'],
  name: `signet-ed-${String(number)}`,
  step: 'planned',
  attempts: 0,
  planned_at: now,
  ...more,
})

const newSigner = (): Signer => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const publicJwk = publicKey.export({ format: 'jwk' }) as Signer['publicJwk']
  return { alg: 'EdDSA', publicJwk, sign: (message) => Promise.resolve(signWith(null, message, privateKey)) }
}

/** A backend with these keys by name, which notes what it was asked. */
const backendOf = (keys: Map<string, Signer>, more: Partial<SignerProvider> = {}) => {
  const asked: (readonly [string, string, KeyTags?])[] = []
  const provider: SignerProvider = {
    open: (ref) => {
      const found = keys.get(ref)
      return found === undefined ? Promise.reject(new KeyRefused('no such key')) : Promise.resolve(found)
    },
    ping: () => Promise.resolve(),
    create: (name, _alg, _signal, tags) => {
      asked.push(['create', name, tags] as [string, string, KeyTags])
      keys.set(name, newSigner())
      return Promise.resolve(name)
    },
    find: (name, _signal, tags) => {
      asked.push(tags === undefined ? ['find', name] : ['find', name, tags])
      return Promise.resolve(keys.has(name) ? [name] : [])
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
    ...more,
  }
  return { provider, asked }
}

const withRecord = (record: SlotRecord, provider: SignerProvider) => {
  let current = record
  const written: SlotRecord[] = []
  const options: StepOptions = {
    deployment: 'https://id.example',
    providerOf: (name) => (name === 'hsm' ? provider : undefined),
    isTaken: (kid) => kid === 'ed-4',
    write: (change) => {
      current = change(current)
      written.push(current)
      return Promise.resolve(current)
    },
    now: () => now,
    signal: new AbortController().signal,
  }
  return { options, written, record: () => current }
}

const recordOf = (...keys: SlotKey[]): SlotRecord => ({
  ...newSlotRecord('ed', now),
  keys,
  next_number: keys.length + 1,
})

const tags = { deployment: 'https://id.example', slot: 'ed', kid: 'ed-1' }

describe('a step of a slot', () => {
  it('plans the next number that no other key has', async () => {
    const { provider } = backendOf(new Map())
    const room = withRecord({ ...recordOf(key(1)), next_number: 4 }, provider)
    await takeStep(slot, { do: 'plan' }, room.options)
    expect(room.record()).toMatchObject({ next_number: 6, keys: [{}, { number: 5, kid: 'ed-5', step: 'planned' }] })
  })

  it('records the attempt before it creates a key, and the key after it', async () => {
    const { provider, asked } = backendOf(new Map())
    const room = withRecord(recordOf(key(1)), provider)
    await takeStep(slot, { do: 'make', key: key(1) }, room.options)
    expect(asked).toEqual([
      ['find', 'signet-ed-1'],
      ['create', 'signet-ed-1', tags],
    ])
    expect(room.written.map(({ keys: [first] }) => [first?.attempts, first?.step, first?.ref])).toEqual([
      [1, 'planned', undefined],
      [1, 'made', 'signet-ed-1'],
    ])
  })

  it('KR01 stops at a key that no record knows, and creates none', async () => {
    const { provider, asked } = backendOf(new Map([['signet-ed-1', newSigner()]]))
    const room = withRecord(recordOf(key(1)), provider)
    const made = takeStep(slot, { do: 'make', key: key(1) }, room.options)
    await expect(made).rejects.toThrow(SlotStopped)
    await expect(made).rejects.toThrow('hsm already has a key signet-ed-1, which no record of the slot knows')
    expect(asked).toEqual([['find', 'signet-ed-1']])
    expect(room.written).toEqual([])
  })

  it('KR02 takes up the key of an interrupted attempt, which it looks for by its tags', async () => {
    const { provider, asked } = backendOf(new Map([['signet-ed-1', newSigner()]]))
    const room = withRecord(recordOf(key(1, { attempts: 1 })), provider)
    await takeStep(slot, { do: 'make', key: key(1, { attempts: 1 }) }, room.options)
    expect(asked).toEqual([['find', 'signet-ed-1', tags]])
    expect(room.record().keys).toMatchObject([{ step: 'made', ref: 'signet-ed-1', attempts: 1 }])
  })

  it('KR11 creates one number three times at most', async () => {
    const away = () => Promise.reject(new Unavailable('signers.hsm', 'unknown', 'the answer was lost'))
    const { provider } = backendOf(new Map(), { create: away })
    const room = withRecord(recordOf(key(1)), provider)
    const again = () => takeStep(slot, { do: 'make', key: room.record().keys[0] as SlotKey }, room.options)
    for (let attempt = 0; attempt < 3; attempt++) await expect(again()).rejects.toThrow('the answer was lost')
    await expect(again()).rejects.toThrow('signet-ed-1 was created 3 times in hsm and is not there')
  })

  it('KR10 does not count an attempt that the backend refused', async () => {
    const refuse = () => Promise.reject(new KeyRefused('the token is full'))
    const room = withRecord(recordOf(key(1)), backendOf(new Map(), { create: refuse }).provider)
    const made = takeStep(slot, { do: 'make', key: key(1) }, room.options)
    await expect(made).rejects.toThrow('the token is full')
    expect(room.record().keys).toMatchObject([{ attempts: 0, step: 'planned' }])
  })

  it('refuses a signer that cannot find keys', async () => {
    const { provider } = backendOf(new Map())
    delete provider.find
    const room = withRecord(recordOf(key(1)), provider)
    const made = takeStep(slot, { do: 'make', key: key(1) }, room.options)
    await expect(made).rejects.toThrow('the signer hsm cannot hold keys of slots')
  })

  it('KR16 proves a key by ten signatures, and refuses one that another number has', async () => {
    const signer = newSigner()
    let signed = 0
    const counted: Signer = { ...signer, sign: (...args) => (signed++, signer.sign(...args)) }
    const made = key(1, { step: 'made', ref: 'r1' })
    const room = withRecord(recordOf(made), backendOf(new Map([['r1', counted]])).provider)
    await takeStep(slot, { do: 'prove', key: made }, room.options)
    expect(signed).toBe(10)
    const [proved] = room.record().keys
    expect(proved).toMatchObject({ step: 'proved', jwk: { kty: 'OKP' } })

    const other = key(2, { step: 'made', ref: 'r1' })
    const both = withRecord(recordOf(proved as SlotKey, other), backendOf(new Map([['r1', counted]])).provider)
    await expect(takeStep(slot, { do: 'prove', key: other }, both.options)).rejects.toThrow(
      'ed-2 is the same key as ed-1',
    )
  })

  it('KR05 lets the present key sign for an hour more on replicas that do not know its successor yet', async () => {
    const present = key(1, { step: 'signing', ref: 'r1', not_before: now - 1 })
    const next = key(2, { step: 'published', ref: 'r2' })
    const room = withRecord(recordOf(present, next), backendOf(new Map([['r2', newSigner()]])).provider)
    await takeStep(slot, { do: 'switch', key: next, before: present }, room.options)
    expect(room.record().keys).toMatchObject([
      { number: 1, not_after: now + overlapMs },
      { number: 2, step: 'signing', not_before: now },
    ])
  })

  it('does not switch to a key that does not sign any more', async () => {
    const present = key(1, { step: 'signing', ref: 'r1', not_before: now - 1 })
    const next = key(2, { step: 'published', ref: 'r2' })
    const room = withRecord(recordOf(present, next), backendOf(new Map()).provider)
    await expect(takeStep(slot, { do: 'switch', key: next, before: present }, room.options)).rejects.toThrow(KeyRefused)
    expect(room.written).toEqual([])
  })
})

/** A double of a record store with one record. */
const storeOf = (first: SlotRecord | undefined) => {
  let current = first
  const update: RecordStore<SlotRecord>['update'] = (_id, decide) => {
    const { result, write } = decide(current)
    if (write) current = write.record
    return Promise.resolve(result)
  }
  return { store: { update } as RecordStore<SlotRecord>, record: () => current }
}

describe('the lease of a slot', () => {
  it('is held by one process, and taken by another when it has run out', async () => {
    const { store } = storeOf(undefined)
    expect((await takeLease(store, 'ed', 'a', now))?.lease).toEqual({ holder: 'a', fence: 1 })
    expect(await takeLease(store, 'ed', 'b', now + 60_000)).toBeUndefined()
    expect((await takeLease(store, 'ed', 'b', now + 120_000))?.lease).toEqual({ holder: 'b', fence: 2 })
  })

  it('KR04 lets a process that was paused meanwhile change nothing', async () => {
    const { store, record } = storeOf(undefined)
    const first = await takeLease(store, 'ed', 'a', now)
    const second = await takeLease(store, 'ed', 'b', now + 120_000)
    if (first === undefined || second === undefined) throw new Error('no lease')
    await writeStep(store, 'ed', second.lease, now + 121_000, (known) => ({ ...known, next_number: 7 }))
    const before = record()
    const late = writeStep(store, 'ed', first.lease, now + 122_000, (known) => ({ ...known, next_number: 1 }))
    await expect(late).rejects.toThrow(LeaseLost)
    expect(record()).toBe(before)
  })
})
