import { epochSeconds, type Clock } from '../clock.js'
import { RecentMap } from '../recent-map.js'
import { maxCertificateBytes, maxCertificates } from './certificate-chains.js'
import { findPath, readAuthorities } from './certificate-paths.js'
import type { ClientCertificate } from './client-certificate.js'
import type { PathPurpose } from './path-faults.js'
import { parseCertificate, readCertificate, type ReadCertificate } from './read-certificate.js'
import { createRefusedChains } from './refused-chains.js'
import { findTimeFault, validityOf, type Validity } from './validity.js'

/**
 * Checks that methods of client authentication make on a certificate (RFC 8705 §2). The faults are for the audit log.
 */
export interface ClientCertificates {
  /** The contents of the certificate, or undefined when it does not parse. */
  read(certificate: ClientCertificate): ReadCertificate | undefined
  /** Why the certificate cannot be used at this time, or undefined if it can. */
  findTimeFault(certificate: ReadCertificate): string | undefined
  /**
   * Why it is not trusted for client authentication. Undefined when a path leads to a trust anchor (RFC 5280 §6.1) or
   * the proxy found one.
   */
  findFault(certificate: ClientCertificate): string | undefined
}

export interface ClientCertificatesOptions {
  /** PEM, one certificate or several in each. */
  readonly trustAnchors: readonly string[]
  /** PEM certificates of intermediates that clients may omit. */
  readonly intermediates: readonly string[]
  readonly verifiedByProxy: boolean
  readonly clock: Clock
}

/** An entry takes about 10 KiB. */
const maxRead = 1000
/** An entry takes about 200 bytes. */
const maxTrusted = 10_000

const clientAuthentication: PathPurpose = {
  usages: ['1.3.6.1.5.5.7.3.2'],
  leafFault: 'it is not for client authentication',
  authorityFault: 'an authority is not for client authentication',
}

const orNothing = <T>(make: () => T): T | undefined => {
  try {
    return make()
  } catch {
    return undefined
  }
}

/** Throws `Error` when an anchor or an intermediate is not a certificate. */
export const createClientCertificates = (options: ClientCertificatesOptions): ClientCertificates => {
  const { clock, verifiedByProxy } = options
  const authorities = readAuthorities(options.trustAnchors, options.intermediates)
  const unlessRefused = createRefusedChains(clock)
  // Cached by thumbprint, because reading costs 300 µs and verifying 1 ms, and clients come back.
  const known = new RecentMap<string, ReadCertificate>(maxRead)
  const trusted = new RecentMap<string, Validity>(maxTrusted)

  const read = ({ raw, thumbprint }: ClientCertificate): ReadCertificate | undefined => {
    const before = known.get(thumbprint)
    if (before !== undefined) return before
    const certificate = orNothing(() => readCertificate(raw))
    if (certificate !== undefined) known.set(thumbprint, certificate)
    return certificate
  }

  const findTrusted = (certificate: ClientCertificate, chain: readonly Buffer[], now: number): Validity | string => {
    const leaf = read(certificate)
    if (leaf === undefined) return 'it does not parse'
    const offered = chain
      .map((raw) => (raw.length > maxCertificateBytes ? undefined : orNothing(() => parseCertificate(raw))))
      .filter((one) => one !== undefined)
    const found = findPath(leaf, authorities, offered, now, clientAuthentication)
    return typeof found === 'string' ? found : validityOf(found)
  }

  return {
    read,
    findTimeFault: (certificate) => findTimeFault(validityOf([certificate]), epochSeconds(clock)),
    findFault(certificate) {
      if (verifiedByProxy) return undefined
      const now = epochSeconds(clock)
      const before = trusted.get(certificate.thumbprint)
      if (before !== undefined) return findTimeFault(before, now)
      const chain = certificate.chain.slice(0, maxCertificates)
      const found = unlessRefused([certificate.raw, ...chain], () => findTrusted(certificate, chain, now))
      if (typeof found === 'string') return found
      trusted.set(certificate.thumbprint, found)
      return undefined
    },
  }
}
