import { z } from 'zod'
import { definePlugin, epochSeconds, Unavailable } from '../../../core/api/index.js'
import type { AttestationStatusProvider } from '../../../core/api/attestation.js'

const options = z.strictObject({
  /** If true, a `principal_id` belongs to the subject that enrolled it first. */
  unique_principal_id: z.boolean().default(true),
})

/** Status from the enrolments made here: one key per principal, and none for those revoked by command. */
export default definePlugin({
  name: 'attestation/registry',
  apiVersion: 1,
  options,
  needs: ['clock', 'principals'],
  create({ unique_principal_id: unique }, { clock, principals }) {
    const statusProvider: AttestationStatusProvider = {
      async current({ principal, jkt, step }, _signal, refuse) {
        const { enrolment, revokedAt } = await principals.find(principal)
        if (revokedAt !== undefined) return refuse('revoked by command')
        if (step === 'renewal') {
          if (enrolment === undefined) return refuse('not enrolled here')
          return enrolment.jkt === jkt ? enrolment.attributes : refuse('another key has replaced it')
        }
        const owner = unique ? await principals.findOwner(principal.principalId) : undefined
        return owner === undefined || owner === principal.subject ? {} : refuse('the id belongs to another subject')
      },
      async enrolled({ principal, jkt }, attributes) {
        const owned = await principals.claimId(principal)
        // At the next attempt `current` reads the owner.
        if (unique && !owned) throw new Unavailable('principals', 'no', 'Another subject has just enrolled this id.')
        await principals.enrol({ principal, jkt, attributes, enrolledAt: epochSeconds(clock) })
      },
      renewed: ({ principal }) => principals.renewed(principal, epochSeconds(clock)),
    }
    return { statusProvider }
  },
})
