import type { KeyObject, X509Certificate } from 'node:crypto'
import { isAcceptedKey } from '../jose/public-key-guard.js'

/** Groups keys that cost the same to verify with. */
export type KeyKinds = ReadonlySet<string>

const kindOf = ({ asymmetricKeyType, asymmetricKeyDetails: details }: KeyObject): string =>
  [asymmetricKeyType, details?.namedCurve, details?.modulusLength, details?.publicExponent].join(' ')

const isStrong = ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean => {
  if (type === 'rsa' || type === 'rsa-pss') return (details?.modulusLength ?? 0) >= 2048
  if (type === 'ec') return /^(?:prime256v1|secp384r1|secp521r1)$/.test(details?.namedCurve ?? '')
  return type === 'ed25519' || type === 'ed448'
}

/** The kinds of these keys, weak ones left out. */
export const keyKindsOf = (certificates: readonly X509Certificate[]): KeyKinds =>
  new Set(
    certificates
      .map(({ publicKey }) => publicKey)
      .filter(isStrong)
      .map(kindOf),
  )

/**
 * What keeps a certificate's key from being verified by: it is weak, or neither of a kind that every key here may have nor of
 * one that the deployment trusts already. A signature of P-521 or RSA-16384 takes twenty times as long as one of P-256.
 */
export const findKeyFault = ({ publicKey }: X509Certificate, kinds: KeyKinds): string | undefined => {
  if (!isStrong(publicKey)) return 'a key is too weak'
  return isAcceptedKey(publicKey) || kinds.has(kindOf(publicKey))
    ? undefined
    : 'a key is of a kind that is not accepted'
}

/** Has verifying by its key cost no more than by any other key? False too for a key that cannot be imported. */
export const hasAcceptedKey = (certificate: X509Certificate): boolean => {
  try {
    return isAcceptedKey(certificate.publicKey)
  } catch {
    return false
  }
}
