import { z } from 'zod'
import { personalScopes } from '../../../core/api/internal.js'

const uri = z.string().refine((value) => URL.canParse(value) && !value.includes('#'), 'must be an absolute URI')
const names = z.array(z.string().min(1)).default([])

/** An attestation is for a device or service: it gives no claims of a person, and nothing that outlives it. */
const attestedScope = z
  .array(
    z
      .string()
      .min(1)
      .refine((name) => !personalScopes.has(name), 'is about a person, and an attestation is not'),
  )
  .optional()

/** What one client may do besides narrowing its own tokens. */
const rights = z.strictObject({
  /** Resource servers that this client is. It may present tokens for them. */
  audiences: z.array(uri).default([]),
  /** Resource servers that it may get tokens for, although the subject token is for others. */
  targets: z.array(uri).default([]),
  /** Clients whose tokens it may act on, as if each named it in `may_act`. */
  acts_for: names,
  /** Scopes that it may get for an id_token, which has none. */
  id_token_scope: names,
  /**
   * Scopes that it may get for an attestation of this issuer, by `principal_type`. It may not present one of a type
   * that is absent.
   */
  attestation_scope: z.strictObject({ device: attestedScope, service: attestedScope }).prefault({}),
})

export type Rights = z.output<typeof rights>

export const none: Rights = rights.parse({})

export const options = z.strictObject({
  /** Keyed by client_id. */
  clients: z.record(z.string(), rights).default({}),
})
