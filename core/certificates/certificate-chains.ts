import { createPublicKey, type webcrypto, type X509Certificate } from 'node:crypto'
import { epochSeconds, type Clock } from '../clock.js'
import { findPath, readAuthorities } from './certificate-paths.js'
import { parseCertificate, readBundle, readCertificate, type ReadCertificate } from './read-certificate.js'
import { createRefusedChains } from './refused-chains.js'

export interface CertificateChainsOptions {
  /** PEM, one certificate or several in each: whom a chain must lead to. */
  readonly trustAnchors: readonly string[]
  /** PEM: what chains may leave out. */
  readonly intermediates?: readonly string[]
  /** OIDs of extended key usages that the first certificate must have, each of them. */
  readonly usages?: readonly string[]
  readonly clock: Clock
}

/** A chain that leads to a trust anchor. */
export interface TrustedChain {
  readonly ok: true
  readonly leaf: ReadCertificate
  /** From the leaf to the anchor, both included. Certificates that were sent and are not needed are not in it. */
  readonly path: readonly ReadCertificate[]
}

/** Chains of certificates that say of a key where it is. Not those of clients: for these there is `clientCertificates`. */
export interface CertificateChains {
  /**
   * Looks for a path from the first certificate (DER) to a trust anchor through the others, in any order (RFC 5280 §6.1): signatures
   * of SHA-256 or better, keys of 2048 to 4096 bits RSA, P-256, P-384, Ed25519, or of the kind of an anchor's or intermediate's,
   * authorities with their path lengths, times, no critical extension that is not understood, no name constraints. Nothing
   * of revocation. At most 8 certificates of 16 KiB, and 8 signatures. Of a refusal the reason is in constant words; it is
   * remembered for a minute. Throws nothing.
   */
  check(chain: readonly Uint8Array[]): TrustedChain | { readonly ok: false; readonly reason: string }
}

/** Of what anybody sends, before anything of it is verified. */
export const maxCertificates = 8
export const maxCertificateBytes = 16_384

/** Throws `Error` when a trust anchor or an intermediate is no certificate, and when there is no anchor. */
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
 * The public key of a certificate (DER), of which nothing is verified: what it signed can be verified before its chain is looked
 * at. Undefined for what is no certificate, and for keys that have no JWK.
 */
export const findCertificateKey = (raw: Uint8Array): webcrypto.JsonWebKey | undefined => {
  try {
    return parseCertificate(raw).publicKey.export({ format: 'jwk' })
  } catch {
    return undefined
  }
}

/** Is the certificate of this public key? The key is one that was checked: the members of its type are there. */
export const isForKey = ({ x509 }: ReadCertificate, jwk: Readonly<webcrypto.JsonWebKey>): boolean =>
  createPublicKey({ key: jwk, format: 'jwk' }).equals(x509.publicKey)

const maxBase64 = Math.ceil(maxCertificateBytes / 3) * 4
const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * A chain as JOSE writes it (RFC 7515 §4.1.6): base64 of DER, the certificate of the key first. Undefined for anything else, for
 * more than 8 certificates, and where one is longer than 16 KiB.
 */
export const readX5c = (value: unknown): readonly Buffer[] | undefined => {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxCertificates) return undefined
  const isOne = (one: unknown): one is string =>
    typeof one === 'string' && one !== '' && one.length <= maxBase64 && base64Form.test(one)
  return value.every(isOne) ? value.map((one) => Buffer.from(one, 'base64')) : undefined
}

/** What keeps a text from being a PEM bundle of certificates; undefined: nothing. */
export const findCertificatesFault = (pem: string): string | undefined => {
  try {
    return readBundle([pem]).length > 0 ? undefined : 'must contain certificates in PEM'
  } catch {
    return 'contains a certificate that does not parse'
  }
}
