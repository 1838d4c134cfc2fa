import { z } from 'zod'
import { definePlugin, Unavailable } from '../../../core/api/index.js'
import type { SecondFactorVerifier } from '../../../core/api/attestation.js'
import { findOutboundFault, findWebhookSecretFault, reportFault } from '../../../core/api/internal.js'

const options = z.strictObject({
  kind: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as sms: small letters, digits and _')
    .default('webhook'),
  url: z.string().superRefine(reportFault(findOutboundFault)),
  secret: z.string().superRefine(reportFault(findWebhookSecretFault)),
})

const answers = z.union([
  z.strictObject({ ok: z.literal(true), attributes: z.record(z.string(), z.json()).optional() }),
  z.object({ ok: z.literal(false) }),
])

/**
 * A second factor that a service of the deployer checks. Only an explicit yes accepts, and only an explicit no
 * refuses.
 */
export default definePlugin({
  name: 'attestation/webhook',
  apiVersion: 1,
  options,
  needs: ['outbound'],
  create({ kind, ...webhook }, { outbound }) {
    const verifier: SecondFactorVerifier = {
      kind,
      async verify({ principal, jkt, attributes, signal }, { value }) {
        const { subject, principalId: principal_id, principalType: principal_type } = principal
        const question = {
          ...{ type: 'second_factor', subject, principal_id, principal_type, jkt, attributes },
          second_factor: { kind, value },
        }
        const { data } = answers.safeParse(await outbound.ask(webhook, question, signal))
        if (data === undefined)
          throw new Unavailable(`attestation.${kind}`, 'no', 'The answer of the webhook is malformed')
        if (!data.ok) return { ok: false, reason: 'the webhook refused' }
        return { ok: true, ...(data.attributes && { attributes: data.attributes }) }
      },
    }
    return { secondFactors: [verifier] }
  },
})
