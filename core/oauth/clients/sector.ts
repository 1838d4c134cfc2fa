import type { Client } from './client.js'

type Sectored = Pick<Client, 'client_id' | 'redirect_uris' | 'sector_identifier_uri'>

/**
 * Returns undefined for URIs that any program on the person's machine could receive: loopback, and private-use
 * schemes (RFC 8252 §7).
 */
const hostOf = (redirectUri: string): string | undefined => {
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'https:' ? hostname : undefined
}

const hostsOf = (redirectUris: readonly string[]): readonly (string | undefined)[] => [
  ...new Set(redirectUris.map(hostOf)),
]

/**
 * Returns the sector in which a person has one pairwise subject (OIDC Core §8.1): the host of
 * `sector_identifier_uri`, else the one host of the redirect URIs, without its port. A client without such a host is
 * a sector by itself, whose name cannot be that of a host.
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

/** Finds contradictions in a client's metadata. `checkSector` checks the document behind `sector_identifier_uri`. */
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

/** These grants deliver to the redirect URI, or involve no person. */
const byRedirect: ReadonlySet<string> = new Set(['authorization_code', 'refresh_token', 'client_credentials'])

/**
 * Applies to clients that register themselves. The list of redirect URIs of a sector proves something only when all
 * responses go there; any other grant would give the client the subjects of whichever sector it names.
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
