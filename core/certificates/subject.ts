import { isSameName, parseDistinguishedName } from './distinguished-name.js'
import { shortestAddress, type ReadCertificate } from './read-certificate.js'

/**
 * Client metadata members that name the subject of its certificate. A client has exactly one of them (RFC 8705
 * §2.1.2).
 */
export const subjectMembers = [
  'tls_client_auth_subject_dn',
  'tls_client_auth_san_dns',
  'tls_client_auth_san_uri',
  'tls_client_auth_san_ip',
  'tls_client_auth_san_email',
] as const

export type CertificateSubject = {
  readonly [Name in (typeof subjectMembers)[number]]?: string | undefined
}

/** The local part of an address is case-sensitive, the domain is not (RFC 5280 §7.5). */
const normalizeEmail = (address: string): string => {
  const at = address.lastIndexOf('@') + 1
  return `${address.slice(0, at)}${address.slice(at).toLowerCase()}`
}

const is = (found: readonly string[], wanted: string, normalize: (text: string) => string): boolean =>
  found.some((name) => normalize(name) === normalize(wanted))

const asItIs = (text: string): string => text

/**
 * Whether the certificate is for the subject that the client registered. Names are compared literally; wildcards such
 * as `*.example.com` are not expanded.
 */
export const isForSubject = ({ subject, names }: ReadCertificate, wanted: CertificateSubject): boolean => {
  const {
    tls_client_auth_subject_dn: dn,
    tls_client_auth_san_dns: dns,
    tls_client_auth_san_uri: uri,
    tls_client_auth_san_ip: ip,
    tls_client_auth_san_email: email,
  } = wanted
  if (dn !== undefined) {
    const name = parseDistinguishedName(dn)
    return name !== undefined && isSameName(subject, name)
  }
  if (dns !== undefined) return is(names.dns, dns, (name) => name.toLowerCase())
  if (uri !== undefined) return is(names.uri, uri, asItIs)
  if (ip !== undefined) return is(names.ip, ip, shortestAddress)
  return email !== undefined && is(names.email, email, normalizeEmail)
}
