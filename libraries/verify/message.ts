import type { IncomingMessage } from 'node:http'
import { checkMembers, kinds } from '../wire/options.js'
import { refused } from './refusal.js'

const ofEveryMessage = ['content-length', 'transfer-encoding']
/** Headers that the verifier of devices reads. Each may occur once. */
export const deviceHeaders: ReadonlySet<string> = new Set([
  ...ofEveryMessage,
  'content-digest',
  'content-type',
  'signature',
  'signature-input',
  'signature-key',
  'x-attestation',
  'x-signature',
])
/** Headers that the verifier of access tokens reads. Each may occur once. */
export const tokenHeaders: ReadonlySet<string> = new Set([...ofEveryMessage, 'authorization', 'dpop'])
/** Headers that the verifier of workloads reads. Each may occur once. */
export const workloadHeaders: ReadonlySet<string> = new Set([
  ...ofEveryMessage,
  'authorization',
  'txn-token',
  'workload-identity-token',
])

/** A request whose body has not been read. */
export interface Message {
  readonly method: string
  /** Path and query exactly as in the request. */
  readonly target: string
  readonly headers: ReadonlyMap<string, string>
  /** Bytes of the body: 0 if there is none, undefined if unknown until its end. */
  readonly length: number | undefined
  /** Reads the body. Throws `body_too_large` beyond `mostBytes`, and `body_incomplete`. */
  readonly read: (mostBytes: number) => Promise<Uint8Array>
}

/** What a framework knows better than the request object. */
export interface Given {
  /** Path and query as the client sent them, for frameworks that change `url`. */
  readonly target?: string
  /** The bytes of the body, if something has read them already. */
  readonly body?: Uint8Array
}

/** Throws `duplicate_header`, and a `TypeError` for invalid members of `given`. */
export const readMessage = (
  request: IncomingMessage | Request,
  wanted: ReadonlySet<string>,
  given: Given = {},
): Message => {
  checkMembers('given', given, { target: kinds.text, body: kinds.bytes })
  const { body, target } = given
  const message = 'rawHeaders' in request ? fromNode(request, wanted, target) : fromFetch(request, wanted, target)
  return body ? { ...message, length: body.length, read: (most) => bounded(body, most) } : message
}

const bounded = (body: Uint8Array, most: number): Promise<Uint8Array> =>
  body.length > most ? Promise.reject(refused('body_too_large')) : Promise.resolve(body)

const lengthOf = (headers: ReadonlyMap<string, string>, withoutLength: 0 | undefined): number | undefined => {
  if (headers.has('transfer-encoding')) return undefined
  const length = headers.get('content-length')
  if (length === undefined) return withoutLength
  if (!/^\d{1,15}$/.test(length)) throw refused('malformed')
  return Number(length)
}

const fromNode = (request: IncomingMessage, wanted: ReadonlySet<string>, target = request.url ?? ''): Message => {
  const headers = new Map<string, string>()
  const raw = request.rawHeaders
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase()
    if (!wanted.has(name)) continue
    if (headers.has(name)) throw refused('duplicate_header')
    headers.set(name, raw[index + 1] ?? '')
  }
  return {
    method: request.method ?? '',
    target,
    headers,
    // Over HTTP/2 a body needs no header.
    length: lengthOf(headers, request.httpVersionMajor > 1 && !request.complete ? undefined : 0),
    read: (most) => readNode(request, most, Number(headers.get('content-length'))),
  }
}

const readNode = (request: IncomingMessage, most: number, length: number): Promise<Uint8Array> => {
  if (request.readableDidRead)
    throw new TypeError('The request body was already read. Mount the verifier before any body parser.')
  // A short body that arrived with the headers is taken in one piece.
  const isHere = length > 0 && length <= most && request.readableLength === length
  return isHere ? Promise.resolve(request.read() as Buffer) : collect(request, most)
}

/** Leaves the connection open, so that a refusal can be answered. */
const collect = (request: IncomingMessage, most: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const settle = (done: () => void): void => {
      request.off('data', take).off('end', end).off('error', fail).off('close', fail)
      done()
    }
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes <= most) chunks.push(chunk)
      else
        settle(() => {
          request.pause()
          reject(refused('body_too_large'))
        })
    }
    const end = () => settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    const fail = (cause?: Error) => settle(() => reject(refused('body_incomplete', cause)))
    if (request.destroyed) return fail()
    request.on('data', take).on('end', end).on('error', fail).on('close', fail)
  })

const targetOf = (url: string): string => {
  const { pathname, search } = new URL(url)
  return `${pathname}${search}`
}

const fromFetch = (request: Request, wanted: ReadonlySet<string>, target = targetOf(request.url)): Message => {
  const headers = new Map([...request.headers].filter(([name]) => wanted.has(name)))
  return {
    method: request.method,
    target,
    headers,
    length: request.body === null ? 0 : lengthOf(headers, undefined),
    read: (most) => readFetch(request, most),
  }
}

const readFetch = async (request: Request, most: number): Promise<Uint8Array> => {
  if (request.bodyUsed) throw new TypeError('The request body was already read. Call the verifier first.')
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > most) break
      chunks.push(chunk)
    }
  } catch (cause) {
    throw refused('body_incomplete', cause)
  }
  if (bytes > most) throw refused('body_too_large')
  return Buffer.concat(chunks)
}
