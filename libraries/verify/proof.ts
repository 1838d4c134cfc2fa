import type { Message } from './message.js'

/** What either form of request signature comes to, before anything of it is believed. */
export interface Proof {
  readonly jwk: unknown
  /** The thumbprint that the signature names beside the key. */
  readonly keyid?: string | undefined
  /** What is signed, and the signature: ES256, `r` and `s` side by side. */
  readonly input: string
  readonly signature: Buffer
  /** Seconds since the epoch. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** Never twice of one key. */
  readonly id: string
  /** The SHA-256 of the body, spelled as the form spells it; undefined: the signature is for a request without a body. */
  readonly digest: { readonly encoding: 'hex' | 'base64'; readonly text: string } | undefined
  /** Compares method, path, audience and query, as far as they are not in `input`. Throws a refusal. */
  readonly checkTarget: (message: Message) => void
}
