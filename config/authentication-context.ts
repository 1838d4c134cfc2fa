import { z } from 'zod'
import { text } from './fields.js'

/** It is sent in `acr_values`, between spaces, and in a quoted string of a header. */
const acrValue = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'must be visible ASCII without blank, " and \\')

/** Contexts that sign-ins can be required to meet, weakest first (OIDC Discovery §3, RFC 9470). */
export const acrValuesSupported = z
  .array(
    z.strictObject({
      acr: acrValue.describe('The value of the claim `acr`.'),
      /** Values of `amr` that the sign-in must have. All are required (RFC 8176). */
      methods: z
        .array(text)
        .min(1, 'must name a method')
        .describe('Values of `amr` (RFC 8176) that the sign-in must have, all of them.'),
    }),
  )
  .default([])

/** What `/userinfo` requires of the sign-in behind an access token (RFC 9470). */
export const userinfoRequirements = z
  .strictObject({
    acr_values: z
      .array(acrValue)
      .min(1, 'must name a value')
      .optional()
      .describe("One of them must be the token's `acr`."),
    max_age_secs: z.int().min(1).optional().describe('How old the sign-in may be.'),
  })
  .default({})
