import { z } from 'zod'

export const options = z
  .strictObject({
    /** Of the method: in URLs and in the audit log. */
    id: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -')
      .default('passkey'),
    title: z.record(z.string(), z.string()).optional(),
    /** A domain: that of the issuer, or one above it. */
    rp_id: z.string().min(1).optional(),
    rp_name: z.string().min(1).max(64).optional(),
    /** Of sign-ins with a passkey. */
    acr: z.string().min(1).optional(),
    /** Ids of methods: then it is a second factor. */
    after: z.array(z.string().min(1)).min(1).optional(),
  })
  .prefault({})

export type Options = z.output<typeof options>

/** The relying party of Web Authentication. */
export interface RelyingParty {
  readonly id: string
  readonly name: string
  /** The one origin whose pages may ask. */
  readonly origin: string
}

/**
 * A browser takes an RP ID that is the host of the page, or a domain above it (Web Authentication Level 3 §5.1.3). Throws an
 * `Error` for any other.
 */
export const relyingPartyOf = (issuer: string, { rp_id, rp_name }: Options): RelyingParty => {
  const { hostname, origin } = new URL(issuer)
  const id = rp_id ?? hostname
  if (/^[\d.]+$|:/.test(id)) throw new Error(`rp_id: passkeys need a domain name, and ${id} is an address`)
  if (hostname !== id && !hostname.endsWith(`.${id}`))
    throw new Error(`rp_id: must be ${hostname}, the host of the issuer, or a domain above it`)
  return { id, name: rp_name ?? id, origin }
}
