import type { Principal, PrincipalType } from '../attestation/ports.js'
import { readPrincipal } from '../attestation/read-body.js'
import { OAuthError } from '../oauth/errors.js'
import { CommandFailed } from './failure.js'

interface Written {
  readonly subject: string
  readonly principalId: string
  readonly type: PrincipalType
}

/** The same names that can be enrolled. */
export const toPrincipal = ({ subject, principalId, type }: Written): Principal => {
  try {
    return readPrincipal({ subject, principal_id: principalId, principal_type: type })
  } catch (error) {
    throw error instanceof OAuthError ? new CommandFailed(error.description) : error
  }
}

/** As people read it; in the same form the commands take it, unless one of the two has a slash. */
export const nameOf = ({ subject, principalId }: Principal): string => `${subject}/${principalId}`

/** What a person compares with what a device shows: the first 16 characters of a thumbprint, 96 bits. */
export const fingerprint = (jkt: string): string => jkt.slice(0, 16)

/** Names of a principal as requests have them. */
export const toWire = ({ subject, principalId: principal_id, principalType: principal_type }: Principal) => ({
  ...{ subject, principal_id, principal_type },
})
