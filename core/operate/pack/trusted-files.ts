import { createPublicKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { findCertificatesFault } from '../../certificates/certificate-chains.js'
import { isObject } from '../../json.js'

/** A file of the verifier does not hold what it should. The message names the file. */
export class TrustedFileUnfit extends Error {
  override readonly name = 'TrustedFileUnfit'
}

const parseKeys = (text: string): readonly unknown[] | undefined => {
  try {
    if (text.includes('-----BEGIN ')) return [createPublicKey(text).export({ format: 'jwk' })]
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return undefined
    const { keys } = value
    return Array.isArray(keys) ? (keys as readonly unknown[]) : [value]
  } catch {
    // The message of the parser may quote the file.
    return undefined
  }
}

/** Reads the public keys of a deployment: a JWK, a JWK Set, or PEM. Throws `TrustedFileUnfit`, or the system's error. */
export const readTrustedKeys = async (file: string): Promise<readonly unknown[]> => {
  const keys = parseKeys(await readFile(file, 'utf8'))
  if (keys === undefined) throw new TrustedFileUnfit(`${file}: holds neither a JWK, nor a JWK Set, nor a key in PEM`)
  return keys
}

/** Reads certificates in PEM. Throws as `readTrustedKeys`. */
export const readTrustedCertificates = async (file: string): Promise<string> => {
  const pem = await readFile(file, 'utf8')
  const fault = findCertificatesFault(pem)
  if (fault !== undefined) throw new TrustedFileUnfit(`${file}: ${fault}`)
  return pem
}
