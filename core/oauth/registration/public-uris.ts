import { isIP } from 'node:net'
import { findOutboundFault, withoutFragment } from '../../outbound/outbound-fetch.js'
import { isPrivateAddress } from '../../outbound/private-address.js'
import type { Client } from '../clients/client.js'
import type { MetadataProblem } from '../clients/metadata-rules.js'

/** The URIs that Signet fetches or posts to, and those that browsers are sent to or load a picture from. */
const members = [
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'initiate_login_uri',
  'jwks_uri',
  'sector_identifier_uri',
  'backchannel_logout_uri',
  'backchannel_client_notification_endpoint',
  'request_uris',
] as const satisfies readonly (keyof Client)[]

/** Judges a host by its text alone. A name that resolves to a private address is refused when a connection is made. */
export const isPrivateHost = (uri: string): boolean => {
  const host = new URL(uri).hostname.replace(/^\[|\]$|\.$/g, '')
  return isIP(host) === 0 ? /(?:^|\.)localhost$/.test(host) : isPrivateAddress(host)
}

/**
 * Checks the URIs of a client that nobody vouches for, after its schema: they must be https, and no address of a
 * private network unless such addresses are allowed.
 */
export const findUriFaults = (client: Client, allowPrivateAddresses: boolean): readonly MetadataProblem[] =>
  members.flatMap((member) => {
    const value = client[member]
    const uris: readonly (readonly [string, string])[] =
      typeof value === 'string' ? [[member, value]] : (value ?? []).map((uri, at) => [`${member}[${String(at)}]`, uri])
    return uris.flatMap(([path, uri]): readonly MetadataProblem[] => {
      // A fragment has a meaning only in these: it is the hash of the document (OIDC Core §6.2).
      const fault = findOutboundFault(member === 'request_uris' ? withoutFragment(uri) : uri)
      if (fault !== undefined) return [{ path, message: fault }]
      return !allowPrivateAddresses && isPrivateHost(uri) ? [{ path, message: 'must not be in a private network' }] : []
    })
  })
