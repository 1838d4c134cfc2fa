import type { X509Certificate } from 'node:crypto'
import { findKeyFault, keyKindsOf, type KeyKinds } from './certificate-keys.js'
import { readBundle, readCertificate, type ReadCertificate } from './read-certificate.js'
import { findAuthorityFault, findLeafFault, findPathLengthFault, type PathPurpose } from './path-faults.js'
import { createSignatureChecks } from './signature-checks.js'
import { findTimeFault, validityOf } from './validity.js'

/** The longest chain of authorities, one above another. */
const maxAuthorities = 8

const untrusted = 'no trust anchor has issued it'

/** The certificates that a deployment trusts. */
export interface Authorities {
  readonly anchors: readonly ReadCertificate[]
  readonly intermediates: readonly ReadCertificate[]
  /** Kinds of keys that are accepted because an authority has such a key. */
  readonly keyKinds: KeyKinds
}

/** Reads PEM texts. Throws `Error` when one holds anything but certificates. */
export const readAuthorities = (trustAnchors: readonly string[], intermediates: readonly string[]): Authorities => {
  const [anchors, others] = [readBundle(trustAnchors), readBundle(intermediates)]
  return { anchors, intermediates: others, keyKinds: keyKindsOf([...anchors, ...others].map(({ x509 }) => x509)) }
}

/** Collects the certificates that lead up from the leaf by name, and the anchors they reach. Nothing is verified. */
const climbByName = (
  leaf: X509Certificate,
  anchors: readonly ReadCertificate[],
  others: readonly X509Certificate[],
) => {
  const reached = new Set([leaf])
  // A Set also iterates over members that are added during the iteration.
  for (const below of reached) for (const above of others) if (below.checkIssued(above)) reached.add(above)
  const tops = anchors.filter(({ x509 }) => [...reached].some((below) => below.checkIssued(x509)))
  reached.delete(leaf)
  return { between: [...reached], tops }
}

const readOrNothing = (x509: X509Certificate): ReadCertificate | undefined => {
  try {
    return readCertificate(x509)
  } catch {
    return undefined
  }
}

/**
 * Looks for a path from `leaf` to an anchor (RFC 5280 §6.1). Returns the path from leaf to anchor, every certificate
 * valid now, or the reason there is none. `offered` are the certificates that the caller sent. The search starts at
 * the anchors, and only where names lead to one, so that the caller's own keys never verify anything and only
 * certificates signed by an authority are read. `now` is in seconds since the epoch.
 */
export const findPath = (
  leaf: ReadCertificate,
  { anchors, intermediates, keyKinds }: Authorities,
  offered: readonly X509Certificate[],
  now: number,
  purpose: PathPurpose,
): readonly ReadCertificate[] | string => {
  const leafFault =
    findLeafFault(leaf, purpose) ?? findKeyFault(leaf.x509, keyKinds) ?? findTimeFault(validityOf([leaf]), now)
  if (leafFault !== undefined) return leafFault
  const known = new Map(intermediates.map((one) => [one.x509, one]))
  const { between, tops } = climbByName(leaf.x509, anchors, [...known.keys(), ...offered])
  // When no path leads from an anchor to the leaf, the last fault found is reported.
  let fault = untrusted
  const isSignedBy = createSignatureChecks()

  const findFault = (path: readonly ReadCertificate[], next: ReadCertificate): string | undefined =>
    findAuthorityFault(next, path.length === 0, purpose) ??
    findKeyFault(next.x509, keyKinds) ??
    findPathLengthFault(path) ??
    findTimeFault(validityOf([next]), now)

  /** `path` starts at an anchor, and all of it is verified. */
  const descend = (
    path: readonly ReadCertificate[],
    next: ReadCertificate | undefined,
  ): readonly ReadCertificate[] | undefined => {
    const wrong = next === undefined ? 'a certificate does not parse' : findFault(path, next)
    if (next === undefined || wrong !== undefined) {
      fault = wrong ?? fault
      return undefined
    }
    const whole = [...path, next]
    if (isSignedBy(leaf.x509, next.x509)) return [leaf, ...whole.reverse()]
    if (whole.length === maxAuthorities) return undefined
    for (const below of between) {
      if (whole.some(({ x509 }) => x509 === below) || !isSignedBy(below, next.x509)) continue
      const found = descend(whole, known.get(below) ?? readOrNothing(below))
      if (found !== undefined) return found
    }
    return undefined
  }

  for (const anchor of tops) {
    const found = descend([], anchor)
    if (found !== undefined) return found
  }
  return fault
}
