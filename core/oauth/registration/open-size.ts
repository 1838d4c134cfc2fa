import { maxTokenLength } from '../../jose/compact-jws.js'
import type { Client, ClientRegistration } from '../clients/client.js'
import { metadataRefused } from './refuse-metadata.js'

/** The size limit for the metadata of a client that nobody vouches for, in bytes. */
const maxMetadata = 4096
/** Bytes for the members that the core adds: ids, times and hashes. */
const maxOwn = 1024

/**
 * Returns the size to count for the record as JSON, in bytes, whatever the client changes later. It is charged to the
 * client's address.
 */
export const openBytes = ({
  software_statement: statement = '',
}: Pick<ClientRegistration, 'software_statement'>): number => maxMetadata + maxOwn + statement.length

/**
 * A software statement has a limit of its own, because the operator trusts its issuer. Throws
 * `invalid_client_metadata`.
 */
export const checkOpenSize = ({ registration, ...metadata }: Client): void => {
  if (registration === undefined || registration.initial_access_token !== undefined) return
  const { software_statement: statement = '' } = registration
  const bytes = Buffer.byteLength(JSON.stringify(metadata))
  if (bytes > maxMetadata || statement.length > maxTokenLength)
    throw metadataRefused([{ path: 'metadata', message: `must take at most ${String(maxMetadata)} bytes as JSON` }])
}
