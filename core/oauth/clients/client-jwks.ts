import { z } from 'zod'
import type { JsonObject } from '../../json.js'
import { maxKeys } from '../../jose/key-set.js'
import { findClientJwkFault, isForeignJwk } from '../../jose/public-key-guard.js'
import { findOutboundFault, withoutFragment } from '../../outbound/outbound-fetch.js'
import { reportFault } from '../../report-fault.js'

const hasRepeatedKid = (keys: readonly unknown[]): boolean => {
  const kids = keys.flatMap((key) => (typeof key === 'object' && key !== null && 'kid' in key ? [key.kid] : []))
  return new Set(kids).size < kids.length
}

/** Returns the positions of the keys that are not understood here, beside at least one that is. */
export const foreignKeysOf = (keys: readonly unknown[]): readonly number[] =>
  keys.some((key) => findClientJwkFault(key) === undefined)
    ? keys.flatMap((key, at) => (isForeignJwk(key) ? [at] : []))
    : []

/**
 * `jwks` of a client (RFC 7591 §2): public keys that each passed the guard. Keys of other types and uses are exempt
 * (RFC 7517 §5).
 */
export const clientJwks = z.strictObject({
  keys: z
    .array(z.custom<JsonObject>())
    .min(1, 'must hold at least one key')
    .max(maxKeys, `must hold at most ${String(maxKeys)} keys`)
    .superRefine((keys, context) => {
      const ignored = foreignKeysOf(keys)
      for (const [at, key] of keys.entries()) {
        const message = ignored.includes(at) ? undefined : findClientJwkFault(key)
        if (message !== undefined) context.addIssue({ code: 'custom', path: [at], message })
      }
    })
    .refine((keys) => !hasRepeatedKid(keys), 'must not repeat a kid'),
})

const outboundUri = (longest: number, findFault = findOutboundFault) =>
  z
    .string()
    .superRefine(
      reportFault((value) =>
        value.length > longest ? `must have at most ${String(longest)} characters` : findFault(value),
      ),
    )

/** `jwks_uri` of a client (RFC 7591 §2). Registration does not fetch it. */
export const clientJwksUri = outboundUri(2048)

/** `backchannel_logout_uri` of a client (OIDC Back-Channel Logout §2.2). */
export const clientLogoutUri = outboundUri(2048)

/** `backchannel_client_notification_endpoint` of a client (OpenID CIBA Core §4). */
export const clientNotificationEndpoint = outboundUri(2048)

/** `sector_identifier_uri` of a client (OIDC Registration §2). */
export const clientSectorUri = outboundUri(2048)

/** `initiate_login_uri` of a client (OIDC Core §4). Browsers are sent there. */
export const clientLoginUri = outboundUri(2048)

/**
 * `request_uris` of a client. A fragment is the hash of the document (OIDC Registration §2); the maximum length is
 * that of RFC 9101 §5.2.
 */
export const clientRequestUris = z
  .array(outboundUri(512, (value) => findOutboundFault(withoutFragment(value))))
  .min(1, 'must hold at least one URI')
  .max(20, 'must hold at most 20 URIs')
