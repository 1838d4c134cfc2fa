import type { Message } from './message.js'

/** What both forms of request signature have in common, before any of it is trusted. */
export interface Proof {
  readonly jwk: unknown
  /** The thumbprint that the signature states in addition to the key. */
  readonly keyid?: string | undefined
  /** The signing input and the signature: ES256, `r` and `s` concatenated. */
  readonly input: string
  readonly signature: Buffer
  /** Seconds since the epoch. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** Unique for each signature of a key. */
  readonly id: string
  /**
   * The SHA-256 of the body, in the encoding of the form. Undefined if the signature is for a request without a body.
   */
  readonly digest: { readonly encoding: 'hex' | 'base64'; readonly text: string } | undefined
  /** Compares method, path, audience and query, unless they are part of `input`. Throws a refusal. */
  readonly checkTarget: (message: Message) => void
}
