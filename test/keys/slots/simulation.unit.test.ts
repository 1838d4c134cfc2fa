import { describe, expect, it } from 'vitest'
import type { Config } from '../../../config/schema.js'
import { signingKey } from '../../../core/keys/slots/next-step.js'
import { Simulation } from './simulation.js'

const config = {
  issuer: 'https://id.example',
  keys: [
    {
      slot: 'ed',
      alg: 'EdDSA',
      signer: 'hsm',
      purposes: ['access_token', 'id_token'],
      ref: 'signet-{kid}',
      rotate: { every_days: 5, announce_days: 1, ahead: 1, max_keys: 5 },
    },
  ],
  access_token_ttl_secs: 3600,
  id_token_ttl_secs: 7200,
  clock_tolerance_secs: 60,
  resources: [],
} as unknown as Config

const faults = { kill: 0.01, pause: 0.01, store: 0.02, backend: 0.03, clock: 0 }
const seeds = Number(process.env['SIGNET_SIMULATIONS'] ?? 40)

const simulate = async (seed: number, more: Partial<typeof faults> = {}): Promise<Simulation> => {
  const simulation = new Simulation({ seed, steps: 150, config, faults: { ...faults, ...more } })
  try {
    await simulation.run()
    const record = simulation.records.get('ed')
    const before = record && signingKey(record)?.number
    // Undisturbed, the slot goes on by itself.
    for (let step = 0; step < 40; step++) {
      simulation.now += 86_400_000 / 2
      simulation.passed += 86_400_000 / 2
      await simulation.step()
      await simulation.step()
    }
    const after = simulation.records.get('ed')
    if (after?.delay !== undefined && after.delay.retry_at === undefined) return simulation
    if ((signingKey(after as never)?.number ?? 0) <= (before ?? 0)) throw new Error('the slot does not go on')
    return simulation
  } catch (error) {
    throw new Error(`seed ${String(seed)}: ${(error as Error).message}`, { cause: error })
  }
}

describe('slots of keys, simulated', () => {
  it(`keep their promises in ${String(seeds)} schedules of kills, pauses and outages`, async () => {
    let kills = 0
    for (let seed = 1; seed <= seeds; seed++) {
      const simulation = await simulate(seed)
      kills += simulation.kills
      expect(simulation.strays().length, `seed ${String(seed)}`).toBeLessThanOrEqual(simulation.kills)
    }
    expect(kills).toBeGreaterThan(seeds / 2)
  })
})
