import { createPublicKey, type webcrypto, type X509Certificate } from 'node:crypto'
import { epochSeconds, type Clock } from '../clock.js'
import { findPath, readAuthorities } from './certificate-paths.js'
import { parseCertificate, readBundle, readCertificate, type ReadCertificate } from './read-certificate.js'
import { createRefusedChains } from './refused-chains.js'

export interface CertificateChainsOptions {
  /** Trust anchors in PEM, one or several certificates in each text. Every chain must lead to one of them. */
  readonly trustAnchors: readonly string[]
  /** PEM certificates of intermediates that a chain may omit. */
  readonly intermediates?: readonly string[]
  /** OIDs of the extended key usages that the first certificate must have. All of them are required. */
  readonly usages?: readonly string[]
  readonly clock: Clock
}

/** A chain that leads to a trust anchor. */
export interface TrustedChain {
  readonly ok: true
  readonly leaf: ReadCertificate
  /** From the leaf to the anchor, both included. Certificates that were sent but not needed are left out. */
  readonly path: readonly ReadCertificate[]
}

/** Certificate chains that say where a key is held. Chains of clients go through `clientCertificates` instead. */
export interface CertificateChains {
  /**
   * Looks for a path from the first certificate (DER) to a trust anchor through the others, in any order (RFC 5280
   * §6.1). It checks signatures (SHA-256 or better), keys (RSA of 2048 to 4096 bits, P-256, P-384, Ed25519, or a kind
   * that an anchor or intermediate has), path lengths of authorities, times, and critical extensions that are not
   * understood; name constraints are refused. Revocation is not checked. At most 8 certificates of 16 KiB and 8
   * signatures are looked at. A refusal gives its reason in constant words and is remembered for a minute. Never
   * throws.
   */
  check(chain: readonly Uint8Array[]): TrustedChain | { readonly ok: false; readonly reason: string }
}

/** These limits apply to input from anybody, before any of it is verified. */
export const maxCertificates = 8
export const maxCertificateBytes = 16_384

/** Throws `Error` when there is no trust anchor, or when an anchor or intermediate is not a certificate. */
export const createCertificateChains = (options: CertificateChainsOptions): CertificateChains => {
  const { clock, usages = [] } = options
  const authorities = readAuthorities(options.trustAnchors, options.intermediates ?? [])
  if (authorities.anchors.length === 0) throw new Error('there is no certificate among the trust anchors')
  const purpose = {
    usages,
    leafFault: 'it has not the extended key usage that is asked for',
    authorityFault: 'an authority is not for the extended key usage that is asked for',
  }
  const unlessRefused = createRefusedChains(clock)

  const findTrusted = (chain: readonly Uint8Array[]): TrustedChain | string => {
    let leaf: ReadCertificate
    let offered: readonly X509Certificate[]
    try {
      const [first, ...others] = chain.map(parseCertificate)
      if (first === undefined) return 'there is no certificate'
      leaf = readCertificate(first)
      offered = others
    } catch {
      return 'a certificate does not parse'
    }
    const path = findPath(leaf, authorities, offered, epochSeconds(clock), purpose)
    return typeof path === 'string' ? path : { ok: true, leaf, path }
  }

  return {
    check(chain) {
      const refuse = (reason: string) => ({ ok: false, reason }) as const
      if (chain.length > maxCertificates) return refuse('the chain is too long')
      if (chain.some(({ byteLength }) => byteLength > maxCertificateBytes)) return refuse('a certificate is too long')
      const found = unlessRefused(chain, () => findTrusted(chain))
      return typeof found === 'string' ? refuse(found) : found
    },
  }
}

/**
 * The public key of an unverified certificate (DER), so that what the key signed can be checked before its chain is.
 * Returns undefined for input that is not a certificate, and for keys that have no JWK.
 */
export const findCertificateKey = (raw: Uint8Array): webcrypto.JsonWebKey | undefined => {
  try {
    return parseCertificate(raw).publicKey.export({ format: 'jwk' })
  } catch {
    return undefined
  }
}

/** Whether the certificate is for this public key. `jwk` must have been checked: its required members are read. */
export const isForKey = ({ x509 }: ReadCertificate, jwk: Readonly<webcrypto.JsonWebKey>): boolean =>
  createPublicKey({ key: jwk, format: 'jwk' }).equals(x509.publicKey)

const maxBase64 = Math.ceil(maxCertificateBytes / 3) * 4
const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Reads a chain as JOSE writes it (RFC 7515 §4.1.6): base64 of DER, the certificate of the key first. Returns
 * undefined for anything else, for more than 8 certificates, and for one longer than 16 KiB.
 */
export const readX5c = (value: unknown): readonly Buffer[] | undefined => {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxCertificates) return undefined
  const isOne = (one: unknown): one is string =>
    typeof one === 'string' && one !== '' && one.length <= maxBase64 && base64Form.test(one)
  return value.every(isOne) ? value.map((one) => Buffer.from(one, 'base64')) : undefined
}

/** Why a text is not a PEM bundle of certificates, or undefined if it is one. */
export const findCertificatesFault = (pem: string): string | undefined => {
  try {
    return readBundle([pem]).length > 0 ? undefined : 'must contain certificates in PEM'
  } catch {
    return 'contains a certificate that does not parse'
  }
}
