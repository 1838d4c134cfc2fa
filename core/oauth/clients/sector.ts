import type { Client } from './client.js'

type Sectored = Pick<Client, 'client_id' | 'redirect_uris' | 'sector_identifier_uri'>

/** Undefined where any program on the person's machine could stand: loopback, and private-use schemes (RFC 8252 §7). */
const hostOf = (redirectUri: string): string | undefined => {
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'https:' ? hostname : undefined
}

const hostsOf = (redirectUris: readonly string[]): readonly (string | undefined)[] => [
  ...new Set(redirectUris.map(hostOf)),
]

/**
 * Within which a person has one pairwise subject (OIDC Core §8.1): the host of `sector_identifier_uri`, else the one host of
 * the redirect URIs, without its port. A client that no host stands for is a sector of its own, whose name cannot be a host's.
 */
export const sectorOf = ({ client_id, redirect_uris, sector_identifier_uri }: Sectored): string => {
  if (sector_identifier_uri !== undefined) return new URL(sector_identifier_uri).hostname
  const [host, other] = hostsOf(redirect_uris)
  return host === undefined || other !== undefined ? `client ${client_id}` : host
}

interface SectorFault {
  readonly path: 'subject_type' | 'sector_identifier_uri'
  readonly message: string
}

/** What a client's metadata says together. What is behind `sector_identifier_uri` is another question: `checkSector`. */
export const findSectorFault = ({
  subject_type,
  sector_identifier_uri,
  redirect_uris = [],
}: {
  readonly subject_type?: string | undefined
  readonly sector_identifier_uri?: string | undefined
  readonly redirect_uris?: readonly string[] | undefined
}): SectorFault | undefined => {
  if (subject_type !== 'pairwise' || sector_identifier_uri !== undefined) return undefined
  if (hostsOf(redirect_uris.filter((uri) => URL.canParse(uri))).length < 2) return undefined
  return {
    path: 'sector_identifier_uri',
    message: 'is required for subject_type pairwise where the redirect_uris have more than one host (OIDC Core §8.1)',
  }
}

/** What is answered to the redirect URI, or is about no person. */
const byRedirect: ReadonlySet<string> = new Set(['authorization_code', 'refresh_token', 'client_credentials'])

/**
 * For clients that register themselves. That a sector lists its redirect URIs proves something only when all answers
 * go there; any other grant would give it the subjects of whichever sector it names.
 */
export const findUnprovenSector = (
  client: Sectored & Pick<Client, 'subject_type' | 'grant_types'>,
): SectorFault | undefined => {
  const ownSector = sectorOf({ client_id: client.client_id, redirect_uris: [] })
  if (client.subject_type !== 'pairwise' || sectorOf(client) === ownSector) return undefined
  if (client.grant_types.every((name) => byRedirect.has(name))) return undefined
  return {
    path: 'subject_type',
    message: 'pairwise clients may only use authorization_code and refresh_token, unless redirect_uris name no host',
  }
}
