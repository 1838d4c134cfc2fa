import { z } from 'zod'
import { definePlugin, Unavailable } from '../../../core/api/index.js'
import type { AttestationStatusProvider } from '../../../core/api/attestation.js'
import { findOutboundFault, findWebhookSecretFault, reportFault } from '../../../core/api/internal.js'

const options = z.strictObject({
  url: z.string().superRefine(reportFault(findOutboundFault)),
  secret: z.string().superRefine(reportFault(findWebhookSecretFault)),
})

const answers = z.union([
  z.strictObject({ active: z.literal(true), attributes: z.record(z.string(), z.json()) }),
  z.strictObject({ active: z.literal(false) }),
])

/** Status from a service of the deployer. Anything but an answer is an outage, never a revocation. */
export default definePlugin({
  name: 'attestation/status-webhook',
  apiVersion: 1,
  options,
  needs: ['outbound'],
  create(webhook, { outbound }) {
    const statusProvider: AttestationStatusProvider = {
      async current({ principal, jkt, step }, signal, refuse) {
        const { subject, principalId: principal_id, principalType: principal_type } = principal
        const question = { type: 'status', step, subject, principal_id, principal_type, jkt }
        const { data } = answers.safeParse(await outbound.ask(webhook, question, signal))
        if (data === undefined)
          throw new Unavailable('attestation.status', 'no', 'The answer of the webhook is malformed')
        return data.active ? data.attributes : refuse('the webhook reports that it is not active')
      },
    }
    return { statusProvider }
  },
})
