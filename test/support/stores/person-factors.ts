import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../../core/clock.js'
import { collections } from '../../../core/collections/collections.js'
import { createPersonFactors } from '../../../core/interaction/factors/person-factors.js'
import { openEmbedded } from '../../../stores/embedded/open-embedded.js'

/** The factors of people in an embedded store of their own, which is removed with it. */
export const openPersonFactors = async (clock: Clock) => {
  const folder = await mkdtemp(join(tmpdir(), 'signet-factors-'))
  const backend = await openEmbedded({ path: folder, clock })
  const { personFactors: store } = collections({ records: backend, ephemeral: backend } as never)
  return {
    factors: createPersonFactors({ store, clock }),
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}
