import { createAttemptLimiter } from '../../../storage/attempts.js'
import type {
  CounterStore,
  DeviceCodeStore,
  OneTimeStore,
  RecordStore,
  RefreshFamilyStore,
  ReplayGuard,
} from '../../../storage/ports.js'

/** The parts of a backend that races use. */
export interface RaceBackend {
  oneTime(name: string): Pick<OneTimeStore<unknown>, 'put' | 'redeem'>
  replayGuard(name: string): ReplayGuard
  refreshFamilies(name: string): Pick<RefreshFamilyStore<unknown>, 'start' | 'find' | 'rotate'>
  records(name: string): RecordStore<unknown>
  counters(name: string): CounterStore
  deviceCodes(name: string): Pick<DeviceCodeStore<unknown, unknown>, 'start' | 'decide' | 'poll' | 'redeem'>
}

/** `lost` is what a loser must get. Any third answer is a fault. */
export type Outcome = 'won' | 'lost' | 'fault'

/** An operation with at most one winner. */
export interface RaceVerb {
  /** Prepares a round. Resolves with what each process gets. */
  prepare(backend: RaceBackend, id: string): Promise<unknown>
  /** The attempt that each process makes once per round. */
  attempt(backend: RaceBackend, id: string, process: number, given: unknown): Promise<Outcome>
}

const ttlSeconds = 3600
const grant = { sub: 'alice' }
const policy = { free: 0, baseDelaySeconds: 3600, maxDelaySeconds: 3600, forgetAfterSeconds: 3600 }

/** The result of a verb that only reports the winner. */
export const once = (won: boolean): Outcome => (won ? 'won' : 'lost')

const startDevice = async (backend: RaceBackend, id: string) => {
  const codes = backend.deviceCodes('race_device_codes')
  if (!(await codes.start(id, { userCode: id, request: {}, intervalSeconds: 5 }, ttlSeconds)))
    throw new Error('a user code of a race was taken')
  return codes
}

/** Every verb with at most one winner. */
export const storageVerbs = {
  redeem: {
    prepare: (backend, id) => backend.oneTime('race_codes').put(id, grant, ttlSeconds),
    attempt: async (backend, id) => {
      const { outcome } = await backend.oneTime('race_codes').redeem(id)
      return outcome === 'unknown' ? 'fault' : once(outcome === 'won')
    },
  },
  claim: {
    prepare: async () => {},
    attempt: async (backend, id) => once(await backend.replayGuard('race_replays').claim('client', id, ttlSeconds)),
  },
  'claim what expired': {
    prepare: (backend, id) => backend.replayGuard('race_replays').claim('client', id, 0),
    attempt: async (backend, id) => once(await backend.replayGuard('race_replays').claim('client', id, ttlSeconds)),
  },
  rotate: {
    prepare: (backend, id) => {
      const family = { grant, current: 'first', absoluteExpiry: Date.now() + ttlSeconds * 1000 }
      return backend.refreshFamilies('race_families').start(id, family, ttlSeconds)
    },
    attempt: async (backend, id, process) => {
      const families = backend.refreshFamilies('race_families')
      const successor = { hash: `successor ${process}`, salt: `salt ${process}` }
      const rotation = await families.rotate(id, { presented: 'first', successor, idleTtlSeconds: ttlSeconds })
      if (rotation.outcome === 'unknown') return 'fault'
      const ours = rotation.record.current === successor.hash
      if (rotation.outcome === 'won') return ours ? 'won' : 'fault'
      // A loser sees the winner's successor, and so does a later read.
      const stands = (await families.find(id))?.current === rotation.record.current
      return !ours && stands ? 'lost' : 'fault'
    },
  },
  'put onlyIfAbsent': {
    prepare: async () => {},
    attempt: async (backend, id, process) =>
      once(await backend.records('race_records').put(id, { process }, { onlyIfAbsent: true })),
  },
  'change a record': {
    prepare: async (backend, id) => void (await backend.records('race_records').put(id, { process: 'none' })),
    attempt: async (backend, id, process) =>
      once(
        await backend.records('race_records').update(id, (current) => {
          if ((current as { process?: unknown } | undefined)?.process !== 'none') return { result: false }
          return { result: true, write: { record: { process } } }
        }),
      ),
  },
  'begin a count': {
    prepare: async () => {},
    attempt: async (backend, id, process) =>
      once(
        await backend.counters('race_counters').update<number, boolean>('race', id, (current) => {
          if (current !== undefined) return { result: false }
          return { result: true, write: { state: process, forgetAt: Date.now() + ttlSeconds * 1000 } }
        }),
      ),
  },
  'take an attempt': {
    prepare: async () => {},
    attempt: async (backend, id) => {
      const attempts = createAttemptLimiter(backend.counters('race_counters'))
      return once((await attempts.take('login', id, policy)).allowed)
    },
  },
  'start with one user code': {
    prepare: async () => {},
    attempt: async (backend, userCode, process) => {
      const record = { userCode, request: {}, intervalSeconds: 5 }
      return once(await backend.deviceCodes('race_device_codes').start(`${userCode} ${process}`, record, ttlSeconds))
    },
  },
  'decide for a device': {
    prepare: startDevice,
    attempt: async (backend, id, process) => {
      const decision = process % 2 ? ('denied' as const) : { approval: process }
      const { outcome } = await backend.deviceCodes('race_device_codes').decide(id, decision)
      return outcome === 'unknown' ? 'fault' : once(outcome === 'won')
    },
  },
  'poll for a device': {
    prepare: startDevice,
    attempt: async (backend, id) => {
      const { outcome } = await backend.deviceCodes('race_device_codes').poll(id)
      return outcome === 'unknown' ? 'fault' : once(outcome === 'due')
    },
  },
  'redeem a device code': {
    prepare: async (backend, id) => (await startDevice(backend, id)).decide(id, { approval: {} }),
    attempt: async (backend, id) => {
      const { outcome } = await backend.deviceCodes('race_device_codes').redeem(id)
      return outcome === 'unknown' ? 'fault' : once(outcome === 'won')
    },
  },
} as const satisfies Record<string, RaceVerb>

export type StorageVerb = keyof typeof storageVerbs
