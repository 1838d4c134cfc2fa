/** The certificate that a client used for mutual TLS (RFC 8705 §2), as received and unverified. */
export interface ClientCertificate {
  /** DER. */
  readonly raw: Buffer
  /** DER of the certificates sent after it, in the order received. They may be intermediates. */
  readonly chain: readonly Buffer[]
  /** base64url SHA-256 of `raw`, the value of `x5t#S256` (RFC 8705 §3.1). */
  readonly thumbprint: string
}
