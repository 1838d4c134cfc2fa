import type { JsonObject } from '../json.js'
import type { JwsAlg } from '../jose/jwk.js'

/**
 * The header of our own JWS Compact Serialization (RFC 7515 §7.1). Libraries sign only with keys that they hold
 * themselves.
 */
export interface JoseHeader {
  readonly kid: string
  readonly alg: JwsAlg
  readonly typ: string
  /** The certificate chain as base64 of DER, with the certificate of the key first (RFC 7515 §4.1.6). */
  readonly x5c?: readonly string[] | undefined
}

const encode = (header: JoseHeader): string => `${Buffer.from(JSON.stringify(header), 'utf8').toString('base64url')}.`

/**
 * The header is the same for all tokens of one key and type, and encoding it costs a third of the signing input. The
 * map has one entry for each key and type.
 */
const encodedHeaders = new Map<string, string>()

/** Returns the header in base64url, followed by the dot. */
export const encodeHeader = ({ alg, kid, typ, x5c }: JoseHeader): string => {
  // Few tokens have certificates, and a reload may change them, so these headers are not cached.
  if (x5c !== undefined) return encode({ alg, kid, typ, x5c })
  // Neither an algorithm nor a media type contains a space, so no two headers share a name.
  const name = `${alg} ${typ} ${kid}`
  let encoded = encodedHeaders.get(name)
  if (encoded === undefined) {
    encoded = encode({ alg, kid, typ })
    encodedHeaders.set(name, encoded)
  }
  return encoded
}

/**
 * Returns the text that is signed (as ASCII bytes) and that the token begins with. It is one text, so that the two
 * cannot differ (RFC 7515 §5.1).
 */
export const signingInput = (header: JoseHeader, claims: JsonObject): string =>
  encodeHeader(header) + Buffer.from(JSON.stringify(claims), 'utf8').toString('base64url')

/** Appends `signature`, which is in JOSE form, as `Signer.sign` returns it. */
export const serialize = (input: string, signature: Uint8Array): string =>
  `${input}.${Buffer.from(signature.buffer, signature.byteOffset, signature.byteLength).toString('base64url')}`
