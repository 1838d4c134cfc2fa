import { defineGrant, definePlugin, OAuthError } from 'signet-idp'
import { z } from 'zod'

const options = z.strictObject({
  product: z.string(),
  /** The branch (a client_id) that handles each loan. */
  branches: z.record(z.string(), z.string()),
})

export default definePlugin({
  name: 'loan',
  apiVersion: 1,
  options,
  create({ product, branches }) {
    const branchOf = new Map(Object.entries(branches))
    const loan = defineGrant({
      grantType: 'urn:bank.example:grant:loan',
      clientAuthentication: 'confidential',
      params: z.object({ loan: z.string().max(20) }),
      async handle({ client, input, scope, resource }) {
        if (branchOf.get(input.loan) !== client.client_id)
          throw new OAuthError('invalid_grant', 'The loan is not handled by this client.', { reason: 'other branch' })
        return { subject: input.loan, scope, audience: resource, claims: { product } }
      },
    })
    return { grants: [loan] }
  },
})
