import { KeyUsageFlags } from '@peculiar/asn1-x509'
import type { ReadCertificate } from './read-certificate.js'

const anyUsage = '2.5.29.37.0'
const maxReason = 100

/** What a path is used for. */
export interface PathPurpose {
  /**
   * OIDs of the extended key usages that the certificate needs. All are required, and no authority above may exclude
   * one.
   */
  readonly usages: readonly string[]
  /** The reason given for a certificate without these usages, in constant words. */
  readonly leafFault: string
  readonly authorityFault: string
}

const findExtensionFault = ({ notUnderstood }: ReadCertificate): string | undefined =>
  notUnderstood.length > 0
    ? `an extension is not understood: ${notUnderstood.join(' ')}`.slice(0, maxReason)
    : undefined

const findSignatureFault = ({ isSignedStrongly }: ReadCertificate): string | undefined =>
  isSignedStrongly ? undefined : 'a signature is too weak'

const mayUse = ({ keyUsage }: ReadCertificate, flag: KeyUsageFlags): boolean =>
  keyUsage === undefined || (keyUsage & flag) !== 0

/** What is wrong with the certificate at the end of a path, apart from its key and its times. */
export const findLeafFault = (leaf: ReadCertificate, { usages, leafFault }: PathPurpose): string | undefined => {
  if (leaf.authority !== undefined) return 'it is the certificate of an authority'
  if (!usages.every((usage) => leaf.extendedKeyUsage?.includes(usage) === true)) return leafFault
  if (!mayUse(leaf, KeyUsageFlags.digitalSignature)) return 'its key may not sign'
  return findSignatureFault(leaf) ?? findExtensionFault(leaf)
}

/** The same check for an authority. The signature on an anchor proves nothing and is not checked (RFC 5280 §6.1). */
export const findAuthorityFault = (
  authority: ReadCertificate,
  isAnchor: boolean,
  { usages, authorityFault }: PathPurpose,
): string | undefined => {
  const weak = isAnchor ? undefined : findSignatureFault(authority)
  if (weak !== undefined) return weak
  if (authority.authority === undefined) return 'an issuer is no authority'
  const { extendedKeyUsage: allowed = usages } = authority
  if (!usages.every((usage) => allowed.includes(usage)) && !allowed.includes(anyUsage)) return authorityFault
  return findExtensionFault(authority)
}

/** Why no further authority may come below these, which run from the anchor down. */
export const findPathLengthFault = (above: readonly ReadCertificate[]): string | undefined =>
  above.every(({ authority }, index) => (authority?.pathLength ?? above.length) >= above.length - index)
    ? undefined
    : 'an authority may not have so many below it'
