import { createHash, verify, type KeyObject } from 'node:crypto'
import { id_signedData, SignedData, type CertificateSet, type SignerInfo } from '@peculiar/asn1-cms'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import { id_ct_tstInfo, PKIStatus, TimeStampReq, TimeStampResp, TSTInfo } from '@peculiar/asn1-tsp'
import { isoTime } from '../../clock.js'
import { createCertificateChains } from '../../certificates/certificate-chains.js'
import { parseCertificate } from '../../certificates/read-certificate.js'
import { hashNames, namesCertificate } from './signing-certificate.js'

const timeStamping = '1.3.6.1.5.5.7.3.8'
const contentTypeOid = '1.2.840.113549.1.9.3'
const messageDigestOid = '1.2.840.113549.1.9.4'

/** The hash that an algorithm of a signature names; for others, it is the one of the digest. */
const signatureHashes: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
}
const rsaEncryption = '1.2.840.113549.1.1.1'

/** A question to a time stamp authority, and its answer, both as they were sent (DER). */
export interface TimeStamp {
  readonly query: Uint8Array
  readonly response: Uint8Array
}

/** Its message is constant, and follows "the time stamp: ". */
class NotTimeStamp extends Error {
  override readonly name = 'NotTimeStamp'
}

export interface CheckedTimeStamp {
  /** ISO 8601, if the answer could be read. */
  readonly time?: string
  /** The subject of the authority's certificate, unless it is unknown. */
  readonly authority?: string
  /** In words, empty if nothing is wrong. */
  readonly faults: readonly string[]
  /** Tells whether its certificate leads to one that is trusted. */
  readonly isTrusted: boolean
}

const bytesOf = (content: OctetString | ArrayBuffer): Buffer =>
  Buffer.from(content instanceof OctetString ? content.buffer : content)

const attributeOf = ({ signedAttrs = [] }: SignerInfo, type: string): ArrayBuffer | undefined =>
  signedAttrs.find(({ attrType }) => attrType === type)?.attrValues[0]

const lengthOf = (bytes: number): readonly number[] => {
  if (bytes < 0x80) return [bytes]
  const digits = bytes < 0x100 ? [bytes] : [bytes >> 8, bytes & 0xff]
  return [0x80 | digits.length, ...digits]
}

/** RFC 5652 §5.4: what is signed are the attributes as a SET, in the order of DER, in which they are sent. */
const signedBytes = ({ signedAttrs = [] }: SignerInfo): Buffer => {
  const content = Buffer.concat(signedAttrs.map((attribute) => Buffer.from(AsnConvert.serialize(attribute))))
  return Buffer.concat([Buffer.from([0x31, ...lengthOf(content.byteLength)]), content])
}

const isSigned = (signer: SignerInfo, key: KeyObject, digest: string): boolean => {
  const { algorithm } = signer.signatureAlgorithm
  const isEd = key.asymmetricKeyType === 'ed25519' || key.asymmetricKeyType === 'ed448'
  const hash = algorithm === rsaEncryption ? digest : signatureHashes[algorithm]
  if (!isEd && hash === undefined) throw new NotTimeStamp('it is signed with an algorithm that is not accepted')
  return verify(isEd ? null : hash, signedBytes(signer), key, bytesOf(signer.signature))
}

const readCertificates = (set: CertificateSet | undefined) =>
  [...(set ?? [])].flatMap(({ certificate }) =>
    certificate === undefined ? [] : [parseCertificate(new Uint8Array(AsnConvert.serialize(certificate)))],
  )

const readToken = (response: Uint8Array) => {
  const { status, timeStampToken: token } = AsnConvert.parse(response, TimeStampResp)
  if (status.status !== PKIStatus.granted && status.status !== PKIStatus.grantedWithMods)
    throw new NotTimeStamp('the authority has refused')
  if (token?.contentType !== id_signedData) throw new NotTimeStamp('it has no signed data')
  const signed = AsnConvert.parse(token.content, SignedData)
  const { eContentType, eContent } = signed.encapContentInfo
  const content = eContent?.single
  if (eContentType !== id_ct_tstInfo || content === undefined) throw new NotTimeStamp('it has no time')
  return { signed, content: bytesOf(content), info: AsnConvert.parse(content.buffer, TSTInfo) }
}

const isSame = (left: ArrayBuffer | undefined, right: ArrayBuffer | undefined): boolean =>
  left !== undefined && right !== undefined && Buffer.from(left).equals(Buffer.from(right))

/** Returns the parts of the answer that do not match the question and the content. */
const findImprintFaults = (info: TSTInfo, query: Uint8Array, content: Uint8Array): string[] => {
  const asked = AsnConvert.parse(query, TimeStampReq)
  const { hashAlgorithm, hashedMessage } = info.messageImprint
  const hash = hashNames[hashAlgorithm.algorithm]
  const digest = hash === undefined ? undefined : createHash(hash).update(content).digest()
  const isImprint = digest?.equals(bytesOf(hashedMessage)) === true
  return [
    ...(isImprint ? [] : ['it is for another content']),
    ...(isSame(asked.nonce, info.nonce) ? [] : ['its nonce is not the one of the question']),
  ]
}

const findSignatureFaults = (signed: SignedData, content: Buffer) => {
  const signers = [...signed.signerInfos]
  const [signer] = signers
  if (signer === undefined || signers.length !== 1) throw new NotTimeStamp('it does not have one signature')
  const certificates = readCertificates(signed.certificates)
  const leaf = certificates.find(({ raw }) => namesCertificate(signer.signedAttrs ?? [], raw))
  if (leaf === undefined) throw new NotTimeStamp('it lacks the certificate of its signer')
  const hash = hashNames[signer.digestAlgorithm.algorithm]
  if (hash === undefined) throw new NotTimeStamp('its hash is not accepted')
  const [type, digest] = [attributeOf(signer, contentTypeOid), attributeOf(signer, messageDigestOid)]
  const isContent =
    digest !== undefined &&
    bytesOf(AsnConvert.parse(digest, OctetString)).equals(createHash(hash).update(content).digest())
  const isType = type !== undefined && Buffer.from(type).equals(Buffer.from('060b2a864886f70d0109100104', 'hex'))
  const isValid = isContent && isType && isSigned(signer, leaf.publicKey, hash)
  return { leaf, certificates, faults: isValid ? [] : ['its signature is not valid'] }
}

/**
 * Checks that a time stamp is for `content` and for its query, and is signed by the key of the certificate that it
 * names (RFC 3161 §2.4.2). With `anchors` (PEM), the certificate has to lead to one of them at the time of the stamp,
 * and to be for time stamps. Never throws.
 */
export const checkTimeStamp = async (
  { query, response }: TimeStamp,
  content: Uint8Array,
  anchors?: string,
): Promise<CheckedTimeStamp> => {
  try {
    const { signed, content: signedContent, info } = readToken(response)
    const time = isoTime(info.genTime.getTime())
    const { leaf, certificates, faults } = findSignatureFaults(signed, signedContent)
    const own = [...findImprintFaults(info, query, content), ...faults]
    const found = { time, authority: leaf.subject.replaceAll('\n', ', ') }
    if (anchors === undefined) return { ...found, faults: own, isTrusted: false }
    const chains = createCertificateChains({
      trustAnchors: [anchors],
      usages: [timeStamping],
      clock: () => info.genTime.getTime(),
    })
    const others = certificates.filter((one) => one !== leaf)
    const chain = chains.check([leaf, ...others].map(({ raw }) => raw))
    if (!chain.ok) own.push(`the certificate of its authority is not accepted: ${chain.reason}`)
    return { ...found, faults: own, isTrusted: own.length === 0 }
  } catch (error) {
    return { faults: [error instanceof NotTimeStamp ? error.message : 'it does not parse'], isTrusted: false }
  }
}
