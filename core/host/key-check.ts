import { describeKeys, probeKeys } from '../keys/lifecycle/open-ring.js'
import { deploymentNeeds } from '../keys/lifecycle/signing-needs.js'
import type { SharedProofs } from '../keys/shared-proofs.js'
import type { HealthCheck } from '../observe/health.js'
import type { Generation } from './generation.js'

/**
 * Proves the keys of the serving generation when they are due, and reports their health. In a worker, `proofs` says
 * whether it proves them for all workers of its host, or takes the word of another one.
 */
export const createKeyCheck = (current: () => Generation, proofs: SharedProofs | undefined): HealthCheck => {
  proofs?.listen((found) => current().ring.hear(found))
  const known = () => describeKeys(current().ring, deploymentNeeds(current().checked.config))
  return {
    name: 'keys',
    intervalMs: 1000,
    deadlineMs: 5000,
    known,
    check: async (signal) => {
      const { ring, uses } = current()
      await uses.during(probeKeys(ring, signal, proofs?.leads()))
      return known()
    },
  }
}
