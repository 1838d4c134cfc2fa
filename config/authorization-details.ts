import { z } from 'zod'
import { textForPeople } from './claims.js'
import { text } from './fields.js'

/** One line that describes a detail to people. */
const line = z.strictObject({
  label: textForPeople(100).describe('What the line is called. Default: the path.'),
  /** A JSON Pointer (RFC 6901). */
  path: z
    .string()
    .regex(/^(?:\/(?:[^~/]|~[01])*)+$/, 'must be a JSON Pointer, such as /instructedAmount (RFC 6901)')
    .meta({ title: 'JSON Pointer' })
    .describe('The member of the detail, such as `/creditorAccount/iban` (RFC 6901).'),
  format: z
    .enum(['text', 'amount'])
    .default('text')
    .describe('`amount` shows an object of `currency` and `amount` as `12.34 EUR`.'),
})

/** The types of `authorization_details` (RFC 9396 §2) that clients may ask for. */
export const authorizationDetailsTypes = z
  .array(
    z.strictObject({
      type: text.describe('The `type` of a detail.'),
      title: textForPeople(100).describe('Heading on the consent page. Default: the type.'),
      schema: z.record(z.string(), z.json()).describe('What a detail looks like, without its `type`.'),
      show: z
        .array(line)
        .min(1, 'must have a line')
        .optional()
        .describe('The lines of the consent page. Default: every member.'),
    }),
  )
  .default([])
