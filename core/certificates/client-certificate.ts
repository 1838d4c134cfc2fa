/** The certificate that a client used for mutual TLS (RFC 8705 §2), as it came: nothing of it is verified. */
export interface ClientCertificate {
  /** DER. */
  readonly raw: Buffer
  /** DER of the certificates that came after it, in the order in which they were sent: intermediates, perhaps. */
  readonly chain: readonly Buffer[]
  /** base64url SHA-256 of `raw`: what `x5t#S256` holds (RFC 8705 §3.1). */
  readonly thumbprint: string
}
