import type { KeyObject } from 'node:crypto'
import { readBundle } from './read-certificate.js'

/** Certificates of the deployment's own keys. */
export interface KeyCertificates {
  /**
   * The chain of this key in the form of `x5c` (RFC 7515 §4.1.6): base64 of DER, its own certificate first. Undefined
   * if it has none.
   */
  find(publicKey: KeyObject): readonly string[] | undefined
  /** Indexes in the list of the chains that belong to none of these keys. */
  findUnused(publicKeys: readonly KeyObject[]): readonly number[]
}

/** Each text is one PEM chain. Throws `Error` when one does not parse. */
export const readKeyCertificates = (texts: readonly string[]): KeyCertificates => {
  const chains = texts
    .map((text) => readBundle([text]))
    .map((chain) => ({
      key: chain[0]?.x509.publicKey,
      x5c: chain.map(({ x509 }) => x509.raw.toString('base64')),
    }))
  return {
    find: (publicKey) => chains.find(({ key }) => key?.equals(publicKey))?.x5c,
    findUnused: (publicKeys) =>
      chains.flatMap(({ key }, index) => (publicKeys.some((one) => key?.equals(one)) ? [] : [index])),
  }
}
