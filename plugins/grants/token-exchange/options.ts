import { z } from 'zod'
import { personalScopes } from '../../../core/api/internal.js'

const uri = z.string().refine((value) => URL.canParse(value) && !value.includes('#'), 'must be an absolute URI')
const names = z.array(z.string().min(1)).default([])

/** An attestation is of a device or service: no claims of a person, and nothing that outlives it. */
const attestedScope = z
  .array(
    z
      .string()
      .min(1)
      .refine((name) => !personalScopes.has(name), 'is about a person, and an attestation is not'),
  )
  .optional()

/** What one client may do beside narrowing its own tokens. */
const rights = z.strictObject({
  /** The resource servers that this client is: it may show tokens that are for them. */
  audiences: z.array(uri).default([]),
  /** Resource servers that it may get tokens for though the subject token is for others. */
  targets: z.array(uri).default([]),
  /** Clients whose tokens it may act on, as if each had `may_act` for it. */
  acts_for: names,
  /** Scopes that it may get for an id_token, which has none. */
  id_token_scope: names,
  /** Scopes that it may get for an attestation of this issuer, by `principal_type`. Absent: it may show none of that type. */
  attestation_scope: z.strictObject({ device: attestedScope, service: attestedScope }).prefault({}),
})

export type Rights = z.output<typeof rights>

export const none: Rights = rights.parse({})

export const options = z.strictObject({
  /** By client_id. */
  clients: z.record(z.string(), rights).default({}),
})
