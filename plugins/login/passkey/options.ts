import { z } from 'zod'

export const options = z
  .strictObject({
    /** The method's id in URLs and in the audit log. */
    id: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -')
      .default('passkey'),
    title: z.record(z.string(), z.string()).optional(),
    /** The issuer's domain or a parent of it. */
    rp_id: z.string().min(1).optional(),
    rp_name: z.string().min(1).max(64).optional(),
    /** For sign-ins with a passkey. */
    acr: z.string().min(1).optional(),
    /** Ids of methods that it follows, as a second factor. */
    after: z.array(z.string().min(1)).min(1).optional(),
  })
  .prefault({})

export type Options = z.output<typeof options>

/** The relying party of Web Authentication. */
export interface RelyingParty {
  readonly id: string
  readonly name: string
  /** The only origin whose pages may use it. */
  readonly origin: string
}

/**
 * A browser accepts an RP ID that is the page's host or a parent domain of it (Web Authentication Level 3 §5.1.3).
 * Throws an `Error` for any other.
 */
export const relyingPartyOf = (issuer: string, { rp_id, rp_name }: Options): RelyingParty => {
  const { hostname, origin } = new URL(issuer)
  const id = rp_id ?? hostname
  if (/^[\d.]+$|:/.test(id)) throw new Error(`rp_id: passkeys need a domain name, and ${id} is an address`)
  if (hostname !== id && !hostname.endsWith(`.${id}`))
    throw new Error(`rp_id: must be ${hostname}, the host of the issuer, or a domain above it`)
  return { id, name: rp_name ?? id, origin }
}
