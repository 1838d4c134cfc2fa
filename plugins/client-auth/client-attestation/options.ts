import { z } from 'zod'
import type { JsonObject } from '../../../core/api/index.js'
import { findCertificatesFault } from '../../../core/api/attestation.js'
import { algorithms, type JwsAlg } from '../../../core/api/signer.js'
import { findJwkFault, findOutboundFault, reportFault } from '../../../core/api/internal.js'

const allAlgs = Object.keys(algorithms) as [JwsAlg, ...JwsAlg[]]

const jwk = z.custom<JsonObject>().superRefine(reportFault(findJwkFault))

const clientIds = z.array(z.string().min(1, 'must not be empty')).min(1, 'must name at least one client')

/** Who may attest instances of clients. */
const attester = z
  .strictObject({
    /** `iss` of its attestations, if they have one. */
    issuer: z.string().min(1, 'must not be empty').optional(),
    /** The only clients whose instances it may attest. */
    clients: clientIds,
    jwks: z.strictObject({ keys: z.array(jwk).min(1, 'must hold at least one key').max(16) }).optional(),
    jwks_uri: z.string().superRefine(reportFault(findOutboundFault)).optional(),
    /** PEM roots of its certificates. The attestation contains its chain in `x5c`. */
    roots: z
      .array(z.string().superRefine(reportFault(findCertificatesFault)))
      .min(1)
      .optional(),
    /** The certificate must have one of these DNS names or URIs. If absent, any certificate under `roots`. */
    names: z.array(z.string().min(1, 'must not be empty')).min(1).optional(),
    algs: z.array(z.enum(allAlgs)).min(1, 'must name at least one algorithm').default(['ES256']),
  })
  .refine(({ jwks, jwks_uri, roots }) => [jwks, jwks_uri, roots].filter((one) => one !== undefined).length === 1, {
    path: ['jwks_uri'],
    message: 'exactly one of jwks, jwks_uri and roots must be given',
  })
  .refine(({ roots, names }) => roots !== undefined || names === undefined, {
    path: ['names'],
    message: 'is for certificates under roots',
  })

export type Attester = z.output<typeof attester>

export const options = z
  .strictObject({
    attesters: z.array(attester).max(100).default([]),
    /** Clients for which this issuer's own attestations are accepted. */
    own_clients: clientIds.optional(),
    /** Counted from `iat` of an attestation. If absent, until it expires. */
    max_age_secs: z.int().min(1).optional(),
    /** Whether every proof must contain a value of `POST /challenge`. */
    require_challenge: z.boolean().default(false),
  })
  .refine(({ attesters, own_clients }) => attesters.length > 0 || own_clients !== undefined, {
    path: ['attesters'],
    message: 'or own_clients must be given: nobody vouches for any client',
  })

export type Options = z.output<typeof options>
