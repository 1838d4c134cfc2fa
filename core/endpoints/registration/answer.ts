import type { JsonObject } from '../../json.js'
import { toMetadata } from '../../oauth/clients/client-metadata.js'
import type { Client } from '../../oauth/clients/client.js'

/** Below the issuer. A client's own address has one more segment. */
export const registrationPath = '/register'

/** Members of a client's metadata that only the operator sees. */
const withheld: ReadonlySet<string> = new Set(['disabled', 'consent', 'introspection_audiences', 'metadata'])

export interface RegisteredClient {
  readonly client: Client
  /** As issued or as presented, because only its hash is stored. */
  readonly registrationToken: string
  /** The same; absent when it is not known. */
  readonly secret?: string | undefined
}

/** A client information response (RFC 7591 §3.2.1, RFC 7592 §3). */
export const clientInformation = (
  issuer: string,
  { client, registrationToken, secret }: RegisteredClient,
): JsonObject => {
  const { client_id, registration, client_secret_sha256, client_secret_expires_at = 0 } = client
  const { allowed_audiences, ...metadata } = toMetadata(client)
  const visible = Object.entries(metadata).filter(([name]) => !withheld.has(name))
  return {
    // The default when none was given (RFC 7591 §2).
    token_endpoint_auth_method: 'client_secret_basic',
    ...Object.fromEntries(visible),
    ...(client.allowed_audiences.length > 0 && { allowed_audiences }),
    ...(registration && { client_id_issued_at: registration.issued_at }),
    ...(secret !== undefined && { client_secret: secret }),
    ...(client_secret_sha256 !== undefined && { client_secret_expires_at }),
    ...(registration?.software_statement !== undefined && { software_statement: registration.software_statement }),
    registration_access_token: registrationToken,
    registration_client_uri: `${issuer}${registrationPath}/${client_id}`,
  }
}
