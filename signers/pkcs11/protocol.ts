import type { BackendFacts, JwsAlg, PublicJwk } from '../../core/api/signer.js'
import type { Failure } from './return-codes.js'
import type { KeySelector, TokenSelector } from './uri.js'

/** Sent to the child's main thread over Node's own channel, never in arguments or environment. */
export interface ChildOptions {
  readonly module: string
  readonly token: TokenSelector
  readonly pin: string
  /** A login started and never ended, so the PIN may have been counted as wrong. */
  readonly pinInDoubt: boolean
  readonly sessions: number
  /** Length of the longest signature in bytes. With too small a buffer the token would keep the operation open. */
  readonly signatureBytes: number
  /** `pReserved` of `C_Initialize`, for libraries that take their configuration there. */
  readonly libraryParameters?: string
}

/** Unsolicited reports of a session to the parent. */
export type SessionReport =
  | { readonly event: 'login-begins' }
  | { readonly event: 'login-ended' }
  | { readonly event: 'failed'; readonly failure: Failure }

/**
 * Reports of the child's main thread. It waits for an answer, a message with any content, to a report of something
 * that begins.
 */
export type ChildReport =
  | SessionReport
  /** The numbers of the existing sessions, and why the token did not grant all. */
  | { readonly event: 'ready'; readonly sessions: readonly number[]; readonly shortage?: string }
  /** A session that the token granted later. */
  | { readonly event: 'joined'; readonly session: number }

/** A key as sent to a session. Signatures refer to it by `number`. */
export interface OpenRequest {
  readonly do: 'open'
  readonly number: number
  readonly key: KeySelector
  readonly token: TokenSelector
  readonly alg: JwsAlg
  /** The members that distinguish public keys of this type. The child does not load the table of algorithms. */
  readonly members: readonly string[]
  /** The published key; any other is refused. Absent when the key is opened for the first time. */
  readonly published?: PublicJwk
}

export interface CreateRequest {
  readonly do: 'create'
  readonly label: string
  readonly alg: JwsAlg
}

/** Private keys by label or id, by the beginning of their labels, or one of them with its attributes. */
export type LookRequest =
  | { readonly do: 'find'; readonly key: KeySelector }
  | { readonly do: 'list'; readonly prefix: string }
  | { readonly do: 'inspect'; readonly key: KeySelector }

export type ControlRequest =
  OpenRequest | CreateRequest | LookRequest | { readonly do: 'facts' } | { readonly do: 'ping' }

/** Answers of a session: for `open` the public key, for `create` the URI and what else the key may be used for. */
export interface ControlResults {
  open: PublicJwk
  create: { readonly token: TokenSelector; readonly key: KeySelector; readonly otherUses: readonly string[] }
  find: { readonly token: TokenSelector; readonly keys: readonly KeySelector[] }
  list: { readonly token: TokenSelector; readonly keys: readonly KeySelector[] }
  inspect: Readonly<Record<string, boolean | 'unknown'>>
  facts: BackendFacts
  ping: null
}

/**
 * Frames on the socket of a session, in both directions: u32 length of the rest, u8 type, body. Answers come in the
 * order of requests, so they need no number. `sign`: u32 number of the key, message. `control`: JSON. `signature`:
 * u32 session handle, u32 counter, u32 microseconds taken, signature. `result`, `failure`: JSON.
 */
export const frameTypes = { sign: 1, control: 2, signature: 3, result: 4, failure: 5 } as const

export const headerBytes = 5

/** Collects chunks and passes each whole frame to `take`. The bytes are valid only during the call. */
export const frameReader = (take: (type: number, body: Buffer) => void): ((chunk: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    while (all.length - at >= headerBytes) {
      const end = at + 4 + all.readUInt32LE(at)
      if (end > all.length) break
      take(all[at + 4] ?? 0, all.subarray(at + headerBytes, end))
      at = end
    }
    // Copied, because the child's reader reuses its buffer.
    rest = at === all.length ? Buffer.alloc(0) : Buffer.from(all.subarray(at))
  }
}

/** Builds a frame with a JSON body. */
export const jsonFrame = (type: number, value: unknown): Buffer => {
  const body = Buffer.from(JSON.stringify(value))
  const frame = Buffer.allocUnsafe(headerBytes + body.length)
  frame.writeUInt32LE(body.length + 1, 0)
  frame[4] = type
  body.copy(frame, headerBytes)
  return frame
}
