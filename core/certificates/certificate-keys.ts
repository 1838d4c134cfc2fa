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

/** The kinds of these keys, without the weak ones. */
export const keyKindsOf = (certificates: readonly X509Certificate[]): KeyKinds =>
  new Set(
    certificates
      .map(({ publicKey }) => publicKey)
      .filter(isStrong)
      .map(kindOf),
  )

/**
 * Why signatures by this certificate's key are not verified: the key is weak, or it is neither of a kind accepted for
 * everybody nor of a kind that the deployment trusts already. A P-521 or RSA-16384 signature takes twenty times as
 * long to verify as a P-256 one.
 */
export const findKeyFault = ({ publicKey }: X509Certificate, kinds: KeyKinds): string | undefined => {
  if (!isStrong(publicKey)) return 'a key is too weak'
  return isAcceptedKey(publicKey) || kinds.has(kindOf(publicKey))
    ? undefined
    : 'a key is of a kind that is not accepted'
}

/**
 * Whether verifying with this key costs no more than with any other accepted key. Also false for a key that cannot be
 * imported.
 */
export const hasAcceptedKey = (certificate: X509Certificate): boolean => {
  try {
    return isAcceptedKey(certificate.publicKey)
  } catch {
    return false
  }
}
