import { z } from 'zod'
import type { JsonObject } from '../json.js'
import { maxKeys } from '../jose/key-set.js'
import { findJwkFault } from '../jose/public-key-guard.js'
import { findOutboundFault } from '../outbound/outbound-fetch.js'
import { reportFault } from '../report-fault.js'

const hasRepeatedKid = (keys: readonly unknown[]): boolean => {
  const kids = keys.flatMap((key) => (typeof key === 'object' && key !== null && 'kid' in key ? [key.kid] : []))
  return new Set(kids).size < kids.length
}

/** `jwks` of a client (RFC 7591 §2): public keys for verifying, each past the guard. */
export const clientJwks = z.strictObject({
  keys: z
    .array(z.custom<JsonObject>().superRefine(reportFault(findJwkFault)))
    .min(1, 'must hold at least one key')
    .max(maxKeys, `must hold at most ${String(maxKeys)} keys`)
    .refine((keys) => !hasRepeatedKid(keys), 'must not repeat a kid'),
})

/** `jwks_uri` of a client (RFC 7591 §2). Nothing is fetched at the registration. */
export const clientJwksUri = z
  .string()
  .superRefine(
    reportFault((value) => (value.length > 2048 ? 'must have at most 2048 characters' : findOutboundFault(value))),
  )
