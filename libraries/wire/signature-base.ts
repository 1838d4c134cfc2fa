/**
 * The components that an HTTP message signature covers (RFC 9421 §2), in this order; `content-type` when the request
 * has one, `content-digest` when it has a body. Each has the value of its line in the signature base.
 */
export interface CoveredComponents {
  readonly '@method': string
  /** The absolute URI as the client sent it. */
  readonly '@target-uri': string
  readonly 'content-type'?: string
  /** RFC 9530, `sha-256`. */
  readonly 'content-digest'?: string
  readonly 'x-attestation': string
  /** The key itself, because `keyid` and the attestation have only its thumbprint. */
  readonly 'signature-key': string
}

/** RFC 9421 §2.3. Times are seconds since the epoch. */
export interface SignatureParameters {
  readonly created: number
  readonly expires: number
  readonly nonce: string
  /** Thumbprint of the key (RFC 7638). */
  readonly keyid: string
  readonly tag: string
}

const quote = (value: string): string => `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`

/** The inner list of `Signature-Input` (RFC 9421 §2.3), without its label. */
export const writeSignatureParams = (covered: CoveredComponents, parameters: SignatureParameters): string => {
  const { created, expires, nonce, keyid, tag } = parameters
  const names = Object.keys(covered).map(quote).join(' ')
  return `(${names});created=${created};expires=${expires};nonce=${quote(nonce)};keyid=${quote(keyid)};tag=${quote(tag)}`
}

/** `Signature-Key` of the signature with label `sig`: the key by value (draft-hardt-httpbis-signature-key, `hwk`). */
export const writeSignatureKey = (jwk: Readonly<Record<'kty' | 'crv' | 'x' | 'y', string>>): string =>
  `sig=hwk;kty=${quote(jwk.kty)};crv=${quote(jwk.crv)};x=${quote(jwk.x)};y=${quote(jwk.y)}`

/** The signature base (RFC 9421 §2.5). `signatureParams` is the inner list exactly as in `Signature-Input`. */
export const signatureBase = (covered: CoveredComponents, signatureParams: string): string =>
  [
    ...Object.entries(covered).map(([name, value]) => `${quote(name)}: ${value}`),
    `"@signature-params": ${signatureParams}`,
  ].join('\n')
