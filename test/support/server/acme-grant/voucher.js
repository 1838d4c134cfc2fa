import { defineGrant, definePlugin, OAuthError } from 'signet-idp'
import { z } from 'zod'

export default definePlugin({
  name: '@acme/signet-voucher-grant',
  apiVersion: 1,
  options: z.strictObject({ vouchers: z.array(z.string()) }),
  create({ vouchers }) {
    const known = new Set(vouchers)
    const voucher = defineGrant({
      grantType: 'urn:acme.example:grant:voucher',
      params: z.strictObject({ voucher: z.string() }),
      async handle({ input, scope, resource }) {
        if (!known.has(input.voucher)) throw new OAuthError('invalid_grant', 'The voucher is not valid.')
        return { subject: input.voucher, scope, audience: resource, claims: { voucher: input.voucher } }
      },
    })
    return { grants: [voucher] }
  },
})
