import type { OutboundFetch } from '../../outbound/outbound-fetch.js'
import { Unavailable } from '../../unavailable.js'
import type { MetadataProblem } from './metadata-rules.js'
import type { Client } from './client.js'
import { findUnprovenSector } from './sector.js'

/**
 * Finds what keeps a client from having the sector that it names (OIDC Core §8.1, OIDC Registration §5): the document
 * behind `sector_identifier_uri` must be a JSON array of strings with every redirect URI. It is called when a client
 * is added or changed, and never later. `operator`: an operator vouches for the client; `registration`: the client
 * registers itself. A document that cannot be fetched is reported as a problem and not thrown.
 */
export type CheckSector = (client: Client, by: 'operator' | 'registration') => Promise<readonly MetadataProblem[]>

const path = 'sector_identifier_uri'

const utf8 = new TextDecoder('utf-8', { fatal: true })

const readUris = (body: Uint8Array): readonly string[] | undefined => {
  try {
    const value: unknown = JSON.parse(utf8.decode(body))
    const members: readonly unknown[] = Array.isArray(value) ? value : [undefined]
    return members.every((member) => typeof member === 'string') ? members : undefined
  } catch {
    return undefined
  }
}

/**
 * `fetch` follows the outbound rules of the deployment: no redirect, 64 KiB, two seconds, no private address unless
 * allowed.
 */
export const createCheckSector = (fetch: OutboundFetch): CheckSector => {
  const findDocumentFault = async (uri: string, redirectUris: readonly string[]): Promise<string | undefined> => {
    let body: Uint8Array
    try {
      body = await fetch(uri, 'application/json')
    } catch (error) {
      if (error instanceof Unavailable) return 'cannot be fetched'
      throw error
    }
    const listed = readUris(body)
    if (listed === undefined) return 'must lead to a JSON array of URIs (OIDC Core §8.1)'
    return redirectUris.every((redirectUri) => listed.includes(redirectUri))
      ? undefined
      : 'must list every redirect URI of the client (OIDC Core §8.1)'
  }

  return async (client, by) => {
    const unproven = by === 'registration' ? findUnprovenSector(client) : undefined
    if (unproven !== undefined) return [unproven]
    const { sector_identifier_uri: uri, redirect_uris } = client
    if (uri === undefined) return []
    const message = await findDocumentFault(uri, redirect_uris)
    return message === undefined ? [] : [{ path, message }]
  }
}
