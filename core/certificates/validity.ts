import type { ReadCertificate } from './read-certificate.js'

/** Seconds since the epoch. */
export interface Validity {
  readonly from: number
  readonly until: number
}

/** The period in which all of them are valid. */
export const validityOf = (path: readonly ReadCertificate[]): Validity => ({
  from: Math.max(...path.map(({ notBefore }) => notBefore)),
  until: Math.min(...path.map(({ notAfter }) => notAfter)),
})

export const notYetValid = 'it is not yet valid'

/** Why the certificate cannot be used at this time. */
export const findTimeFault = ({ from, until }: Validity, now: number): string | undefined => {
  if (now < from) return notYetValid
  return now > until ? 'it has expired' : undefined
}
