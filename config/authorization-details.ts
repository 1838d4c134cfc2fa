import { z } from 'zod'
import { textForPeople } from './claims.js'
import { text } from './fields.js'

/** One line of what people read about a detail. */
const line = z.strictObject({
  /** Absent: the path. */
  label: textForPeople(100),
  /** A JSON Pointer (RFC 6901). */
  path: z.string().regex(/^(?:\/(?:[^~/]|~[01])*)+$/, 'must be a JSON Pointer, such as /instructedAmount (RFC 6901)'),
  /** `amount`: an object of `currency` and `amount`, as `12.34 EUR`. */
  format: z.enum(['text', 'amount']).default('text'),
})

/** The types of `authorization_details` (RFC 9396 §2) that clients may ask for. */
export const authorizationDetailsTypes = z
  .array(
    z.strictObject({
      type: text,
      title: textForPeople(100),
      /** JSON Schema 2020-12 of a detail, without its `type`. */
      schema: z.record(z.string(), z.json()),
      /** Absent: every member of the detail. */
      show: z.array(line).min(1, 'must have a line').optional(),
    }),
  )
  .default([])
