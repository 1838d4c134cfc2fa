import type { X509Certificate } from 'node:crypto'
import { findKeyFault, keyKindsOf, type KeyKinds } from './certificate-keys.js'
import { readBundle, readCertificate, type ReadCertificate } from './read-certificate.js'
import { findAuthorityFault, findLeafFault, findPathLengthFault, type PathPurpose } from './path-faults.js'
import { createSignatureChecks } from './signature-checks.js'
import { findTimeFault, validityOf } from './validity.js'

/** Authorities one above another. */
const maxAuthorities = 8

const untrusted = 'no trust anchor has issued it'

/** What a deployment trusts. */
export interface Authorities {
  readonly anchors: readonly ReadCertificate[]
  readonly intermediates: readonly ReadCertificate[]
  /** Kinds of keys that are accepted because one of these has such a key. */
  readonly keyKinds: KeyKinds
}

/** From PEM texts. Throws `Error` when one holds something else than certificates. */
export const readAuthorities = (trustAnchors: readonly string[], intermediates: readonly string[]): Authorities => {
  const [anchors, others] = [readBundle(trustAnchors), readBundle(intermediates)]
  return { anchors, intermediates: others, keyKinds: keyKindsOf([...anchors, ...others].map(({ x509 }) => x509)) }
}

/** The certificates through which names lead up from the leaf, and the anchors that they lead to. Nothing is verified. */
const climbByName = (
  leaf: X509Certificate,
  anchors: readonly ReadCertificate[],
  others: readonly X509Certificate[],
) => {
  const reached = new Set([leaf])
  // A set visits what is added while it is walked through.
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
 * Looks for a path from `leaf` to an anchor (RFC 5280 §6.1): the path, leaf and anchor included, all of it valid now; or why there
 * is none. `offered` are certificates that the caller sent. It begins at the anchors, and only where names lead to one, so
 * that none of the caller's own keys ever verifies anything, and reads of what was sent only what an authority has signed.
 * `now`: seconds since the epoch.
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
  // Where no path leads from an anchor to the leaf, the last fault that kept one from it is told.
  let fault = untrusted
  const isSignedBy = createSignatureChecks()

  const findFault = (path: readonly ReadCertificate[], next: ReadCertificate): string | undefined =>
    findAuthorityFault(next, path.length === 0, purpose) ??
    findKeyFault(next.x509, keyKinds) ??
    findPathLengthFault(path) ??
    findTimeFault(validityOf([next]), now)

  /** `path`: from an anchor down, all of it verified. */
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
