import { createHash } from 'node:crypto'
import { AsnConvert } from '@peculiar/asn1-schema'
import { AlgorithmIdentifier } from '@peculiar/asn1-x509'
import { headerAt } from '../../certificates/der-elements.js'

const attributeV1 = '1.2.840.113549.1.9.16.2.12'
const attributeV2 = '1.2.840.113549.1.9.16.2.47'
const sequence = 0x30
const octetString = 0x04

/** The names of hashes in Node, by OID. SHA-1 no longer proves anything by itself. */
export const hashNames: Readonly<Record<string, string>> = {
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}

/**
 * The hash that `SigningCertificate` (RFC 2634 §5.4) or `SigningCertificateV2` (RFC 5035 §3) has of the signer's
 * certificate, which is the first one, and the algorithm if it names one. The other members are not needed.
 */
const firstHash = (der: Buffer): { readonly algorithm?: string; readonly hash: Buffer } | undefined => {
  let offset = 0
  // The attribute, its list, and the first member of the list.
  for (let depth = 0; depth < 3; depth++) {
    if (der[offset] !== sequence) return undefined
    offset += headerAt(der, offset).header
  }
  let algorithm: string | undefined
  if (der[offset] === sequence) {
    const { header, length } = headerAt(der, offset)
    ;({ algorithm } = AsnConvert.parse(der.subarray(offset, offset + header + length), AlgorithmIdentifier))
    offset += header + length
  }
  if (der[offset] !== octetString) return undefined
  const { header, length } = headerAt(der, offset)
  return {
    ...(algorithm !== undefined && { algorithm }),
    hash: der.subarray(offset + header, offset + header + length),
  }
}

/**
 * Whether the signed attributes name this certificate (DER) as the signer's, so that no other one with the same key can
 * take its place (RFC 3161 §2.4.2, RFC 5816). Throws for an algorithm that does not parse.
 */
export const namesCertificate = (
  attributes: readonly { readonly attrType: string; readonly attrValues: readonly ArrayBuffer[] }[],
  certificate: Uint8Array,
): boolean => {
  const found = attributes.find(({ attrType }) => attrType === attributeV2 || attrType === attributeV1)
  const [value] = found?.attrValues ?? []
  const named = value && firstHash(Buffer.from(value))
  if (named === undefined) return false
  const name = named.algorithm === undefined ? undefined : hashNames[named.algorithm]
  const hash = found?.attrType === attributeV1 ? 'sha1' : named.algorithm === undefined ? 'sha256' : name
  return hash !== undefined && createHash(hash).update(certificate).digest().equals(named.hash)
}
