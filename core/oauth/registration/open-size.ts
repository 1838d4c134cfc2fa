import { maxTokenLength } from '../../jose/compact-jws.js'
import type { Client, ClientRegistration } from '../clients/client.js'
import { metadataRefused } from './refuse-metadata.js'

/** Of the metadata of a client that nobody vouches for. */
const maxMetadata = 4096
/** What the core adds: ids, times and hashes. */
const maxOwn = 1024

/** Bytes of its record as JSON, whatever the client changes later: what the place of an address is counted with. */
export const openBytes = ({
  software_statement: statement = '',
}: Pick<ClientRegistration, 'software_statement'>): number => maxMetadata + maxOwn + statement.length

/** A statement is by somebody whom the operator trusts, and has a length of its own. Throws `invalid_client_metadata`. */
export const checkOpenSize = ({ registration, ...metadata }: Client): void => {
  if (registration === undefined || registration.initial_access_token !== undefined) return
  const { software_statement: statement = '' } = registration
  const bytes = Buffer.byteLength(JSON.stringify(metadata))
  if (bytes > maxMetadata || statement.length > maxTokenLength)
    throw metadataRefused([{ path: 'metadata', message: `must take at most ${String(maxMetadata)} bytes as JSON` }])
}
