import { createHash, randomBytes } from 'node:crypto'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import { MessageImprint, TimeStampReq } from '@peculiar/asn1-tsp'
import { AlgorithmIdentifier } from '@peculiar/asn1-x509'
import type { OutboundFetch } from '../../outbound/outbound-fetch.js'
import { Unavailable } from '../../unavailable.js'
import { checkTimeStamp, type TimeStamp } from './check-time-stamp.js'

const sha256Oid = '2.16.840.1.101.3.4.2.1'

/** A positive integer in its shortest form (X.690 §8.3.2). */
const newNonce = (): Buffer => {
  const nonce = randomBytes(16)
  nonce[0] = 0x40 | ((nonce[0] ?? 0) & 0x3f)
  return nonce
}

/** Asks for a time stamp of the SHA-256 digest of `content`, with the certificates of the authority (RFC 3161 §2.4.1). */
export const createTimeStampQuery = (content: Uint8Array): Uint8Array => {
  const imprint = new MessageImprint({
    hashAlgorithm: new AlgorithmIdentifier({ algorithm: sha256Oid, parameters: null }),
    hashedMessage: new OctetString(createHash('sha256').update(content).digest()),
  })
  const nonce = newNonce()
  return new Uint8Array(
    AsnConvert.serialize(
      new TimeStampReq({ messageImprint: imprint, certReq: true, nonce: new Uint8Array(nonce).buffer }),
    ),
  )
}

/**
 * Gets a time stamp of `content` (RFC 3161 §3.4). Throws `Unavailable` when the authority does not answer, or with
 * anything but a time stamp of this content for this question.
 */
export const fetchTimeStamp = async (fetch: OutboundFetch, url: string, content: Uint8Array): Promise<TimeStamp> => {
  const query = createTimeStampQuery(content)
  const response = await fetch(url, 'application/timestamp-reply', {
    body: { contentType: 'application/timestamp-query', bytes: query },
  })
  const { faults } = await checkTimeStamp({ query, response }, content)
  if (faults.length > 0)
    throw new Unavailable('audit.timestamp_authority', 'no', `The answer is no time stamp: ${faults.join('; ')}.`)
  return { query, response }
}
