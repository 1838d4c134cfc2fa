import { X509Certificate } from 'node:crypto'
import { AsnConvert } from '@peculiar/asn1-schema'
import * as asn1 from '@peculiar/asn1-x509'
import { checkElements } from './der-elements.js'
import type { DistinguishedName } from './distinguished-name.js'

/** The contents of a certificate, unverified. */
export interface ReadCertificate {
  readonly x509: X509Certificate
  readonly subject: DistinguishedName
  readonly issuer: DistinguishedName
  /** Subject alternative names by kind, in the order of the certificate. IPv6 addresses are in their shortest form. */
  readonly names: Readonly<Record<'dns' | 'uri' | 'ip' | 'email', readonly string[]>>
  /** Seconds since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
  /**
   * Present in the certificate of an authority. `pathLength` is how many more may come below it, if it sets a limit.
   */
  readonly authority?: { readonly pathLength?: number | undefined }
  /** Bits as in `KeyUsageFlags`. If absent, the key may be used for anything. */
  readonly keyUsage?: number
  readonly extendedKeyUsage?: readonly string[]
  /** The DER of each extension's value, by OID. */
  readonly extensions: ReadonlyMap<string, Buffer>
  /** OIDs of critical extensions that are not understood (RFC 5280 §4.2). */
  readonly notUnderstood: readonly string[]
  /** Whether it is signed with SHA-256 or better. */
  readonly isSignedStrongly: boolean
}

/** RFC 5280 §4.2.1: policies constrain nothing here, because no policy is asked for. */
const understood: ReadonlySet<string> = new Set([
  asn1.id_ce_basicConstraints,
  asn1.id_ce_keyUsage,
  asn1.id_ce_extKeyUsage,
  asn1.id_ce_subjectAltName,
  asn1.id_ce_certificatePolicies,
])

const nameOf = (name: asn1.Name): DistinguishedName =>
  [...name].map((relative) => [...relative].map(({ type, value }) => [type, value.toString()] as const))

const epochSecondsOf = ({ utcTime, generalTime }: asn1.Time): number =>
  Math.floor((utcTime ?? generalTime ?? new Date(Number.NaN)).getTime() / 1000)

const defined = (values: readonly (string | undefined)[]): string[] => values.filter((value) => value !== undefined)

/** RSA and ECDSA with SHA-256, SHA-384 and SHA-512; Ed25519 and Ed448. */
const strongSignatures: ReadonlySet<string> = new Set([
  ...['11', '12', '13'].map((last) => `1.2.840.113549.1.1.${last}`),
  ...['2', '3', '4'].map((last) => `1.2.840.10045.4.3.${last}`),
  ...['1.3.101.112', '1.3.101.113'],
])
const rsassaPss = '1.2.840.113549.1.1.10'
/**
 * Parameters (RFC 4055 §3.1) start with a hash, which defaults to SHA-1. Only SHA-256, SHA-384 and SHA-512 are
 * accepted.
 */
const strongPss = /^30(?:81)?..a0..30..060960864801650304020[123]/

const isStrongSignature = ({ algorithm, parameters }: asn1.AlgorithmIdentifier): boolean =>
  strongSignatures.has(algorithm) ||
  (algorithm === rsassaPss && parameters != null && strongPss.test(Buffer.from(parameters).toString('hex')))

/**
 * Throws `Error` for input that is not a certificate, has more elements than `checkElements` accepts, or has a key
 * that cannot be imported, for example one off its curve.
 */
export const parseCertificate = (raw: Uint8Array): X509Certificate => {
  checkElements(raw)
  const x509 = new X509Certificate(raw)
  if (x509.publicKey.asymmetricKeyType === undefined) throw new Error('the key is of an unknown type')
  return x509
}

/**
 * Like `parseCertificate`. Also throws `Error` for an extension that does not parse, has too many elements, or is
 * repeated.
 */
export const readCertificate = (certificate: Uint8Array | X509Certificate): ReadCertificate => {
  const x509 = certificate instanceof X509Certificate ? certificate : parseCertificate(certificate)
  const { raw } = x509
  const { tbsCertificate: content, signatureAlgorithm } = AsnConvert.parse(raw, asn1.Certificate)
  const extensions = new Map((content.extensions ?? []).map((extension) => [extension.extnID, extension]))
  if (extensions.size < (content.extensions?.length ?? 0)) throw new Error('an extension comes twice')
  const read = <T>(oid: string, type: new () => T): T | undefined => {
    const extension = extensions.get(oid)
    if (extension === undefined) return undefined
    checkElements(Buffer.from(extension.extnValue.buffer))
    return AsnConvert.parse(extension.extnValue, type)
  }
  const basic = read(asn1.id_ce_basicConstraints, asn1.BasicConstraints)
  const alternatives = [...(read(asn1.id_ce_subjectAltName, asn1.SubjectAlternativeName) ?? [])]
  const keyUsage = read(asn1.id_ce_keyUsage, asn1.KeyUsage)?.toNumber()
  const extendedKeyUsage = read(asn1.id_ce_extKeyUsage, asn1.ExtendedKeyUsage)
  return {
    x509,
    subject: nameOf(content.subject),
    issuer: nameOf(content.issuer),
    names: {
      dns: defined(alternatives.map(({ dNSName }) => dNSName)),
      uri: defined(alternatives.map(({ uniformResourceIdentifier }) => uniformResourceIdentifier)),
      ip: defined(alternatives.map(({ iPAddress }) => iPAddress && shortestAddress(iPAddress))),
      email: defined(alternatives.map(({ rfc822Name }) => rfc822Name)),
    },
    notBefore: epochSecondsOf(content.validity.notBefore),
    notAfter: epochSecondsOf(content.validity.notAfter),
    ...(basic?.cA === true && { authority: { pathLength: basic.pathLenConstraint } }),
    ...(keyUsage !== undefined && { keyUsage }),
    ...(extendedKeyUsage && { extendedKeyUsage: [...extendedKeyUsage] }),
    extensions: new Map([...extensions].map(([oid, { extnValue }]) => [oid, Buffer.from(extnValue.buffer)])),
    // Name constraints must be enforced whether critical or not, so an authority that has them is refused.
    notUnderstood: [...extensions.values()]
      .filter(({ extnID, critical }) => extnID === asn1.id_ce_nameConstraints || (critical && !understood.has(extnID)))
      .map(({ extnID }) => extnID),
    isSignedStrongly: isStrongSignature(signatureAlgorithm),
  }
}

/** Gives each address one spelling (RFC 5952). Text that is not an address stays as it is. */
export const shortestAddress = (address: string): string =>
  URL.canParse(`http://[${address}]`) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address

/** Reads the certificates in PEM texts. Throws `Error` when one is not a certificate. */
export const readBundle = (texts: readonly string[]): readonly ReadCertificate[] =>
  texts
    .flatMap((text) => text.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [])
    .map((pem) => readCertificate(Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64')))
