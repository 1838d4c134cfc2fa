import type { Principal, PrincipalType } from '../attestation/ports.js'
import { readPrincipal } from '../attestation/read-body.js'
import { OAuthError } from '../oauth/errors.js'
import { CommandFailed } from './failure.js'

interface Written {
  readonly subject: string
  readonly principalId: string
  readonly type: PrincipalType
}

/** Accepts the same names that can be enrolled. */
export const toPrincipal = ({ subject, principalId, type }: Written): Principal => {
  try {
    return readPrincipal({ subject, principal_id: principalId, principal_type: type })
  } catch (error) {
    throw error instanceof OAuthError ? new CommandFailed(error.description) : error
  }
}

/**
 * Returns the name as people read it. The commands accept the same form, unless one of the two parts contains a
 * slash.
 */
export const nameOf = ({ subject, principalId }: Principal): string => `${subject}/${principalId}`

/** Returns what a person compares with the display of a device: the first 16 characters of a thumbprint, 96 bits. */
export const fingerprint = (jkt: string): string => jkt.slice(0, 16)

/** Returns the names of a principal as they appear in requests. */
export const toWire = ({ subject, principalId: principal_id, principalType: principal_type }: Principal) => ({
  ...{ subject, principal_id, principal_type },
})
