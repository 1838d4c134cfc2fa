import { describe, expect, it } from 'vitest'
import type { Config } from '../../../config/schema.js'
import { signingKey } from '../../../core/keys/slots/next-step.js'
import { Simulation } from './simulation.js'

const rotate = { every_days: 5, announce_days: 1, ahead: 1, max_keys: 5 }

const config = {
  issuer: 'https://id.example',
  keys: [
    {
      slot: 'ed',
      alg: 'EdDSA',
      signer: 'hsm',
      purposes: ['access_token', 'id_token'],
      ref: 'signet-{kid}',
      rotate,
    },
  ],
  access_token_ttl_secs: 3600,
  id_token_ttl_secs: 7200,
  clock_tolerance_secs: 60,
  resources: [],
} as unknown as Config

const halfDay = 43_200_000
const faults = { kill: 0.01, pause: 0.01, store: 0.02, backend: 0.03, clock: 0, stuck: 0 }
/** `SIGNET_SIMULATIONS=1000 npx vitest run --project embedded test/keys/slots` runs so many. */
const seeds = Number(process.env['SIGNET_SIMULATIONS'] ?? 12)
/** Schedules that once found a fault. */
const kept = [17, 69, 137, 168, 377]

/** Undisturbed, the slot goes on by itself, unless it waits for an operator. */
const calmDown = async (simulation: Simulation): Promise<void> => {
  const before = simulation.records.get('ed')
  for (let step = 0; step < 24; step++) {
    simulation.now += halfDay
    simulation.passed += halfDay
    await simulation.step()
    await simulation.step()
  }
  const after = simulation.records.get('ed')
  if (after === undefined) throw new Error('there is no record of the slot')
  if (after.delay !== undefined && after.delay.retry_at === undefined) return
  const [last, now] = [before && signingKey(before)?.number, signingKey(after)?.number]
  if ((now ?? 0) <= (last ?? 0)) throw new Error(`the slot does not go on: ${String(last)}, ${String(now)}`)
}

const simulate = async (seed: number, more: Partial<typeof faults>): Promise<Simulation> => {
  const simulation = new Simulation({ seed, steps: 100, config, faults: { ...faults, ...more } })
  try {
    await simulation.run()
    // A clock that is wrong at the end has nobody who sets it right.
    if (more.clock === undefined) await calmDown(simulation)
    return simulation
  } catch (error) {
    throw new Error(`seed ${String(seed)}: ${(error as Error).message}`, { cause: error })
  }
}

describe('slots of keys, simulated', () => {
  it.each([
    ['KR03, KR06, KR07, KR08: kills, pauses and outages', {}],
    ['KR09: the same, and jumps of the clock by a year', { clock: 0.01 }],
    ['KR91: the same, and replicas that cannot serve the keys of the records', { stuck: 0.5 }],
  ])(
    `keep their promises in ${String(seeds)} schedules of %s`,
    async (_, more) => {
      let kills = 0
      let rotations = 0
      for (const seed of new Set([...kept, ...Array.from({ length: seeds }, (_unused, index) => index + 1)])) {
        const simulation = await simulate(seed, more)
        kills += simulation.kills
        rotations += simulation.records.get('ed')?.next_number ?? 0
        expect(simulation.strays().length, `seed ${String(seed)}: strays`).toBeLessThanOrEqual(simulation.kills)
      }
      expect(kills).toBeGreaterThan(seeds)
      expect(rotations).toBeGreaterThan(2 * seeds)
    },
    60_000 + seeds * 2000,
  )

  /** `SIGNET_KILL_EVERY=1` kills a process at each point. */
  const stride = Number(process.env['SIGNET_KILL_EVERY'] ?? 307)
  const calm = { kill: 0, pause: 0, store: 0, backend: 0, clock: 0, stuck: 0 }
  const removing = {
    ...config,
    keys: config.keys.map((slot) => ({ ...slot, rotate: { ...rotate, destroy_after_days: 2 } })),
  } as Config

  it.each([1, 2])(
    'KR03 keep their promises on %i replicas when a process is killed before or after any one write or call',
    async (replicas) => {
      const live = async (killAt?: number): Promise<Simulation> => {
        const options = { seed: 1, steps: 60, config: removing, replicas, faults: calm }
        const simulation = new Simulation({ ...options, ...(killAt !== undefined && { killAt }) })
        try {
          await simulation.run()
          await calmDown(simulation)
          return simulation
        } catch (error) {
          throw new Error(`killed at ${String(killAt)}: ${(error as Error).message}`, { cause: error })
        }
      }
      const { points, records } = await live()
      // The whole life of a key is among them.
      expect(records.get('ed')?.keys.map(({ step }) => step)).toContain('destroyed')
      for (let killAt = 1; killAt <= points; killAt += stride) {
        const simulation = await live(killAt)
        expect(simulation.kills, `killed at ${String(killAt)}`).toBe(1)
        expect(simulation.strays(), `killed at ${String(killAt)}`).toEqual([])
      }
    },
    3_600_000,
  )
})
