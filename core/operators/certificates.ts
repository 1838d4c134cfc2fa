import { createClientCertificates } from '../certificates/client-certificates.js'
import type { ClientCertificate } from '../certificates/client-certificate.js'
import { isForSubject } from '../certificates/subject.js'
import type { Clock } from '../clock.js'
import type { Found, OperatorDirectory } from './directory.js'

/** Finds the operator of a certificate that is trusted now. Throws `Unavailable`. */
export type FindOperatorOfCertificate = (certificate: ClientCertificate) => Promise<Found | undefined>

/** `trustAnchors` are PEM texts of roots; without one, no certificate is trusted. */
export const createFindOperatorOfCertificate = (
  trustAnchors: () => readonly string[],
  directory: OperatorDirectory,
  clock: Clock,
): FindOperatorOfCertificate => {
  const create = (anchors: readonly string[]) =>
    createClientCertificates({ trustAnchors: anchors, intermediates: [], verifiedByProxy: false, clock })
  let known: { readonly anchors: readonly string[]; readonly trusted: ReturnType<typeof create> } | undefined
  return async (certificate) => {
    const anchors = trustAnchors()
    if (anchors.length === 0) return undefined
    // A reload may bring other anchors.
    if (known?.anchors !== anchors) known = { anchors, trusted: create(anchors) }
    const { trusted } = known
    const read = trusted.read(certificate)
    // The check is made for each request, because a certificate may expire on a connection that stays open.
    if (read === undefined || trusted.findFault(certificate) !== undefined) return undefined
    return directory.findBy((credential) => credential.kind === 'certificate' && isForSubject(read, credential.subject))
  }
}
