import type { JsonObject } from '../json.js'

/** The result of evidence as an attestation states it. Empty if there was none. */
export interface EvidenceClaims {
  readonly keyStorage?: readonly string[]
  readonly userAuthentication?: readonly string[]
}

const maxValues = 8
const maxLength = 128

/** A list of names as defined in OpenID4VCI appendix D, or undefined for anything else. */
export const readEvidenceList = (value: unknown): readonly string[] | undefined => {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxValues) return undefined
  const isName = (one: unknown): one is string => typeof one === 'string' && one !== '' && one.length <= maxLength
  return value.every(isName) ? value : undefined
}

/** The members that evidence adds to an attestation. */
export const writeEvidenceClaims = ({ keyStorage, userAuthentication }: EvidenceClaims): JsonObject => ({
  ...(keyStorage && { key_storage: keyStorage }),
  ...(userAuthentication && { user_authentication: userAuthentication }),
})

/** The evidence members of an attestation, for its renewal. Undefined for claims that we never wrote. */
export const readEvidenceClaims = (claims: JsonObject): EvidenceClaims | undefined => {
  const { key_storage: storage, user_authentication: authentication } = claims
  const [keyStorage, userAuthentication] = [readEvidenceList(storage), readEvidenceList(authentication)]
  if ((storage !== undefined && !keyStorage) || (authentication !== undefined && !userAuthentication)) return undefined
  return { ...(keyStorage && { keyStorage }), ...(userAuthentication && { userAuthentication }) }
}

const levels = ['iso_18045_high', 'iso_18045_moderate', 'iso_18045_enhanced-basic', 'iso_18045_basic']

/**
 * Why a text cannot be a value of `key_storage` or `user_authentication` (OpenID4VCI appendix D.2), or undefined if
 * it can.
 */
export const findEvidenceLevelFault = (value: string): string | undefined =>
  value.length <= maxLength && (levels.includes(value) || URL.canParse(value))
    ? undefined
    : `must be ${levels.join(', ')}, or a URI of your own`
