import { KeyUsageFlags } from '@peculiar/asn1-x509'
import type { KeyObject } from 'node:crypto'
import { readCertificate, type ReadCertificate } from './read-certificate.js'

const anyUsage = '2.5.29.37.0'

/** Authorities one above another, and signatures that one certificate may have verified: a chain can be made to fork. */
const maxAuthorities = 8
const maxSignatures = 24

const isStrong = ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean => {
  if (type === 'rsa' || type === 'rsa-pss') return (details?.modulusLength ?? 0) >= 2048
  if (type === 'ec') return /^(?:prime256v1|secp384r1|secp521r1)$/.test(details?.namedCurve ?? '')
  return type === 'ed25519' || type === 'ed448'
}

/** The certificates of PEM texts. Throws `Error` when one is none. */
export const parseBundle = (texts: readonly string[]): readonly ReadCertificate[] =>
  texts
    .flatMap((text) => text.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [])
    .map((pem) => readCertificate(Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64')))

const maxReason = 100

/** What is wrong with a certificate, wherever it stands. */
const findOwnFault = ({ notUnderstood, x509 }: ReadCertificate): string | undefined => {
  if (notUnderstood.length > 0) return `an extension is not understood: ${notUnderstood.join(' ')}`.slice(0, maxReason)
  return isStrong(x509.publicKey) ? undefined : 'a key is too weak'
}

/** An anchor's own signature is nobody's word for it (RFC 5280 §6.1). */
const findSignatureFault = ({ isSignedStrongly }: ReadCertificate): string | undefined =>
  isSignedStrongly ? undefined : 'a signature is too weak'

const mayUse = ({ keyUsage }: ReadCertificate, flag: KeyUsageFlags): boolean =>
  keyUsage === undefined || (keyUsage & flag) !== 0

/** What a path is for. */
export interface PathPurpose {
  /** Of which extended key usages the certificate must have each, and no authority above may exclude one; as OIDs. */
  readonly usages: readonly string[]
  /** A certificate without them, in constant words. */
  readonly leafFault: string
  readonly authorityFault: string
}

const findLeafFault = (leaf: ReadCertificate, { usages, leafFault }: PathPurpose): string | undefined => {
  if (leaf.authority !== undefined) return 'it is the certificate of an authority'
  if (!usages.every((usage) => leaf.extendedKeyUsage?.includes(usage) === true)) return leafFault
  if (!mayUse(leaf, KeyUsageFlags.digitalSignature)) return 'its key may not sign'
  return findSignatureFault(leaf) ?? findOwnFault(leaf)
}

/** `below`: how many authorities stand between this one and the client. */
const findAuthorityFault = (authority: ReadCertificate, below: number, purpose: PathPurpose): string | undefined => {
  if (authority.authority === undefined) return 'an issuer is no authority'
  if ((authority.authority.pathLength ?? below) < below) return 'an authority may not have so many below it'
  const { extendedKeyUsage: allowed = purpose.usages } = authority
  if (!purpose.usages.every((usage) => allowed.includes(usage)) && !allowed.includes(anyUsage))
    return purpose.authorityFault
  return findOwnFault(authority)
}

/** Seconds since the epoch. */
export interface Validity {
  readonly from: number
  readonly until: number
}

/** When all of them are valid. */
export const validityOf = (path: readonly ReadCertificate[]): Validity => ({
  from: Math.max(...path.map(({ notBefore }) => notBefore)),
  until: Math.min(...path.map(({ notAfter }) => notAfter)),
})

/** Why it is not the time to use it. */
export const findTimeFault = ({ from, until }: Validity, now: number): string | undefined => {
  if (now < from) return 'it is not yet valid'
  return now > until ? 'it has expired' : undefined
}

/** Where a path may lead through, and to. */
export interface Authorities {
  readonly anchors: readonly ReadCertificate[]
  readonly intermediates: readonly ReadCertificate[]
}

/**
 * Looks for a path from `leaf` to an anchor, depth first (RFC 5280 §6.1): the path, leaf and anchor included, all of it valid
 * now; or why there is none. `now`: seconds since the epoch.
 */
export const findPath = (
  leaf: ReadCertificate,
  { anchors, intermediates }: Authorities,
  now: number,
  purpose: PathPurpose,
): readonly ReadCertificate[] | string => {
  // Where no path leads to an anchor, the last fault of one that did not is told.
  let fault = findLeafFault(leaf, purpose) ?? findTimeFault(validityOf([leaf]), now)
  if (fault !== undefined) return fault
  fault = 'no trust anchor has issued it'
  let signatures = 0
  // `checkIssued` compares names and key identifiers, and asks whether the issuer's key may sign certificates.
  const isIssuer = (below: ReadCertificate, above: ReadCertificate): boolean =>
    below.x509.checkIssued(above.x509) && ++signatures <= maxSignatures && below.x509.verify(above.x509.publicKey)
  const climb = (path: readonly ReadCertificate[]): readonly ReadCertificate[] | undefined => {
    const last = path.at(-1) as ReadCertificate
    for (const above of [...anchors, ...intermediates]) {
      if (path.includes(above) || !isIssuer(last, above)) continue
      const whole = [...path, above]
      const isAnchor = anchors.includes(above)
      const weak = isAnchor ? undefined : findSignatureFault(above)
      const wrong = weak ?? findAuthorityFault(above, path.length - 1, purpose) ?? findTimeFault(validityOf(whole), now)
      if (wrong !== undefined) fault = wrong
      else if (isAnchor) return whole
      else {
        const found = path.length < maxAuthorities ? climb(whole) : undefined
        if (found !== undefined) return found
      }
    }
    return undefined
  }
  return climb([leaf]) ?? fault
}
