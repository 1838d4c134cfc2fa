import { isIP } from 'node:net'
import { findOutboundFault, withoutFragment } from '../../outbound/outbound-fetch.js'
import { isPrivateAddress } from '../../outbound/private-address.js'
import type { Client } from '../clients/client.js'
import type { MetadataProblem } from '../clients/metadata-rules.js'

/** What we fetch, what we post to, and where browsers are sent or get a picture from. */
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

/** By its text alone: a name that leads to such an address is noticed when it is connected to. */
export const isPrivateHost = (uri: string): boolean => {
  const host = new URL(uri).hostname.replace(/^\[|\]$|\.$/g, '')
  return isIP(host) === 0 ? /(?:^|\.)localhost$/.test(host) : isPrivateAddress(host)
}

/** The URIs of a client, past its schema, that nobody vouches for: https, and no address of a private network unless such are allowed. */
export const findUriFaults = (client: Client, allowPrivateAddresses: boolean): readonly MetadataProblem[] =>
  members.flatMap((member) => {
    const value = client[member]
    const uris: readonly (readonly [string, string])[] =
      typeof value === 'string' ? [[member, value]] : (value ?? []).map((uri, at) => [`${member}[${String(at)}]`, uri])
    return uris.flatMap(([path, uri]): readonly MetadataProblem[] => {
      // Of these alone a fragment means something: the hash of the document (OIDC Core §6.2).
      const fault = findOutboundFault(member === 'request_uris' ? withoutFragment(uri) : uri)
      if (fault !== undefined) return [{ path, message: fault }]
      return !allowPrivateAddresses && isPrivateHost(uri) ? [{ path, message: 'must not be in a private network' }] : []
    })
  })
