import type { JwsAlg, PublicJwk } from '../../core/api/signer.js'
import type { Failure } from './return-codes.js'
import type { KeySelector, TokenSelector } from './uri.js'

/** To the child's main thread, over Node's own channel: never in its arguments or environment. */
export interface ChildOptions {
  readonly module: string
  readonly token: TokenSelector
  readonly pin: string
  /** A login began that never ended: the PIN may have been counted as wrong. */
  readonly pinInDoubt: boolean
  readonly sessions: number
  /** Bytes of the longest signature. With too small a buffer the token would keep the operation open. */
  readonly signatureBytes: number
  /** `pReserved` of `C_Initialize`, for libraries that take their configuration there. */
  readonly libraryParameters?: string
}

/** What a session has to tell the parent on its own. */
export type SessionReport =
  | { readonly event: 'login-begins' }
  | { readonly event: 'login-ended' }
  | { readonly event: 'failed'; readonly failure: Failure }

/** From the child's main thread. What begins is answered with a message of any content: until then it waits. */
export type ChildReport =
  | SessionReport
  /** The numbers of the sessions that there are, and why the token did not grant all. */
  | { readonly event: 'ready'; readonly sessions: readonly number[]; readonly shortage?: string }
  /** A session that the token grants after all. */
  | { readonly event: 'joined'; readonly session: number }

/** A key as a session gets it; `number` is what signatures name it by. */
export interface OpenRequest {
  readonly do: 'open'
  readonly number: number
  readonly key: KeySelector
  readonly token: TokenSelector
  readonly alg: JwsAlg
  /** The members that tell public keys of this type apart: the child does not load the table of algorithms. */
  readonly members: readonly string[]
  /** What was published: another key is refused. Absent when it is opened for the first time. */
  readonly published?: PublicJwk
}

export interface CreateRequest {
  readonly do: 'create'
  readonly label: string
  readonly alg: JwsAlg
}

export type ControlRequest = OpenRequest | CreateRequest | { readonly do: 'ping' }

/** What a session answers: to `open` the public key, to `create` the URI and what else the key may be used for. */
export interface ControlResults {
  open: PublicJwk
  create: { readonly token: TokenSelector; readonly key: KeySelector; readonly otherUses: readonly string[] }
  ping: null
}

/**
 * Frames on the socket of a session, both ways: u32 length of what follows, u8 type, body. Answers come in the order
 * of the requests, so that neither needs a number.
 * `sign`: u32 number of the key, message. `control`: JSON.
 * `signature`: u32 session handle, u32 counter, u32 microseconds that it took, signature. `result`, `failure`: JSON.
 */
export const frameTypes = { sign: 1, control: 2, signature: 3, result: 4, failure: 5 } as const

export const headerBytes = 5

/** Collects what arrives in pieces and gives each whole frame to `take`; the bytes are valid during the call alone. */
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
    // A copy, because the reader of the child reuses its buffer.
    rest = at === all.length ? Buffer.alloc(0) : Buffer.from(all.subarray(at))
  }
}

/** One frame with its body as JSON. */
export const jsonFrame = (type: number, value: unknown): Buffer => {
  const body = Buffer.from(JSON.stringify(value))
  const frame = Buffer.allocUnsafe(headerBytes + body.length)
  frame.writeUInt32LE(body.length + 1, 0)
  frame[4] = type
  body.copy(frame, headerBytes)
  return frame
}
