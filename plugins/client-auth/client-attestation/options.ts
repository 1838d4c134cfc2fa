import { z } from 'zod'
import {
  algorithms,
  findJwkFault,
  findOutboundFault,
  reportFault,
  type JsonObject,
  type JwsAlg,
} from '../../../core/api/index.js'

const allAlgs = Object.keys(algorithms) as [JwsAlg, ...JwsAlg[]]

const jwk = z.custom<JsonObject>().superRefine(reportFault(findJwkFault))

const clientIds = z.array(z.string().min(1, 'must not be empty')).min(1, 'must name at least one client')

/** Who vouches for instances of clients. */
const attester = z
  .strictObject({
    /** `iss` of its attestations, where they have one. */
    issuer: z.string().min(1, 'must not be empty').optional(),
    /** It vouches for instances of these clients and no others. */
    clients: clientIds,
    jwks: z.strictObject({ keys: z.array(jwk).min(1, 'must hold at least one key').max(16) }).optional(),
    jwks_uri: z.string().superRefine(reportFault(findOutboundFault)).optional(),
    algs: z.array(z.enum(allAlgs)).min(1, 'must name at least one algorithm').default(['ES256']),
  })
  .refine(({ jwks, jwks_uri }) => (jwks === undefined) !== (jwks_uri === undefined), {
    path: ['jwks_uri'],
    message: 'exactly one of jwks and jwks_uri must be given',
  })

export type Attester = z.output<typeof attester>

export const options = z
  .strictObject({
    attesters: z.array(attester).max(100).default([]),
    /** Clients of which this issuer's own attestations are accepted. */
    own_clients: clientIds.optional(),
    /** Since `iat` of an attestation; absent: until it expires. */
    max_age_secs: z.int().min(1).optional(),
    /** Every proof must contain a value of `POST /challenge`. */
    require_challenge: z.boolean().default(false),
  })
  .refine(({ attesters, own_clients }) => attesters.length > 0 || own_clients !== undefined, {
    path: ['attesters'],
    message: 'or own_clients must be given: nobody vouches for any client',
  })

export type Options = z.output<typeof options>
