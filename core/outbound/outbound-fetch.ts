import { lookup } from 'node:dns'
import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { userAgent } from '../../libraries/wire/user-agent.js'
import { Unavailable } from '../unavailable.js'
import { isLoopbackHost, isPrivateAddress } from './private-address.js'
import { createProxyAgent } from './proxy.js'

export interface OutboundOptions {
  /** If false, no connection is made to private networks or to this machine. */
  readonly allowPrivateAddresses: boolean
  /** Milliseconds for one request. The default, 2000, is less than the deadline of a request to us. */
  readonly deadlineMs?: number
  /** Accepted status codes. The default is 200. */
  readonly statuses?: readonly number[]
}

/** The body of a POST. */
export interface OutboundBody {
  readonly contentType: string
  readonly bytes: Uint8Array
  /** Added to `accept`, `content-type` and `content-length`. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * GETs a document, or POSTs `body` and returns the answer. Throws `Unavailable` for any failure, including another
 * status. `signal` can end it before its own deadline; `maxBytes` allows answers over 64 KiB from an address that the
 * deployer chose.
 */
export type OutboundFetch = (
  url: string,
  accept: string,
  more?: { readonly body?: OutboundBody; readonly signal?: AbortSignal; readonly maxBytes?: number },
) => Promise<Uint8Array>

const defaultMaxBytes = 65_536
const maxHeaderBytes = 16_384

export const withoutFragment = (uri: string): string => uri.replace(/#.*$/s, '')

/** Why an address must not be fetched from, or undefined if it may be. */
export const findOutboundFault = (value: string): string | undefined => {
  if (!URL.canParse(value)) return 'must be an absolute URL'
  const { protocol, hostname, username, password } = new URL(value)
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopbackHost(hostname)))
    return 'must be https: http is for loopback addresses only'
  if (username !== '' || password !== '') return 'must not carry credentials'
  return value.includes('#') ? 'must have no fragment' : undefined
}

const refused = 'the address is private: see outbound.allow_private_addresses'

/**
 * Connects to the very address that was checked, so a name that resolves to another one a moment later gains nothing.
 * Names are resolved on the thread pool, of which libuv leaves half to everything else.
 */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, [])
    const [first] = addresses
    if (first === undefined) callback(new Error('the host name has no address'), [])
    else if (addresses.some(({ address }) => isPrivateAddress(address))) callback(new Error(refused), [])
    else if (options.all === true) callback(null, addresses)
    else callback(null, first.address, first.family)
  })
}

/** The response, whatever its status. */
export interface OutboundAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
}

/**
 * One plain request, for services whose errors have bodies too: resolves with any status. Throws `Unavailable` when
 * there is no response, with `applied: 'unknown'` unless the method is safe (RFC 9110 §9.2.1).
 */
export type OutboundRequest = (
  url: string,
  more: {
    readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
    readonly headers: Readonly<Record<string, string>>
    readonly body?: Uint8Array | undefined
    readonly signal?: AbortSignal | undefined
    readonly maxBytes?: number
  },
) => Promise<OutboundAnswer>

type RequestRules = Pick<OutboundOptions, 'allowPrivateAddresses' | 'deadlineMs'>

const readBody = async (response: IncomingMessage, maxBytes: number): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const singleHeaders = ({ headers }: IncomingMessage): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )

/**
 * Makes every request of this server to others: with a deadline, no redirects, answers of at most 64 KiB unless the
 * caller allows more, no private address unless allowed, and no kept connections. A proxy of the environment is used,
 * and then resolves the names.
 */
export const createOutboundRequest = ({ allowPrivateAddresses, deadlineMs = 2000 }: RequestRules): OutboundRequest => {
  const send = (
    url: URL,
    options: RequestOptions,
    maxBytes: number,
    signal: AbortSignal | undefined,
    body?: Uint8Array,
  ): Promise<OutboundAnswer> =>
    new Promise((resolve, reject) => {
      const request = url.protocol === 'https:' ? requestHttps : requestHttp
      const sent = request(url, options)
      // A response of the proxy is not an answer of the requested address.
      sent.once('proxyConnect', ({ statusCode }: { readonly statusCode: number }) => {
        if (statusCode !== 200) end(new Error(`the proxy answered ${String(statusCode)}`))
      })
      // A request that waits for a connection is ended neither by `destroy` nor by its signal.
      const end = (reason: Error): void => {
        sent.destroy(reason)
        reject(reason)
      }
      const abort = (): void => end(signal?.reason as Error)
      const timer = setTimeout(() => end(new Error('the answer took too long')), deadlineMs)
      signal?.addEventListener('abort', abort)
      sent.on('error', reject)
      sent.on('response', (response) => {
        const { statusCode: status = 0 } = response
        readBody(response, maxBytes)
          .then((bytes) => resolve({ status, headers: singleHeaders(response), bytes }), reject)
          .finally(() => sent.destroy())
      })
      sent.on('close', () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      })
      sent.end(body)
    })

  return async (text, { method, headers, body, signal, maxBytes = defaultMaxBytes }) => {
    try {
      const fault = findOutboundFault(text)
      if (fault !== undefined) throw new Error(`the URL ${fault}`)
      const url = new URL(text)
      const host = url.hostname.replace(/^\[|\]$/g, '')
      // A literal address is never looked up.
      if (!allowPrivateAddresses && isIP(host) !== 0 && isPrivateAddress(host)) throw new Error(refused)
      const options: RequestOptions = {
        agent: createProxyAgent(text, deadlineMs) ?? false,
        method,
        headers: {
          ...headers,
          'user-agent': userAgent,
          ...(body !== undefined && { 'content-length': body.byteLength }),
        },
        maxHeaderSize: maxHeaderBytes,
        ...(!allowPrivateAddresses && { lookup: lookupPublic }),
      }
      signal?.throwIfAborted()
      return await send(url, options, maxBytes, signal, body)
    } catch (cause) {
      throw failed(cause, !safeMethods.has(method))
    }
  }
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** A request that was sent may have taken effect. */
const failed = (cause: unknown, acts: boolean): Unavailable => {
  const reason = cause instanceof Error ? cause.message : 'unknown error'
  return new Unavailable('outbound', acts ? 'unknown' : 'no', `An outbound fetch failed: ${reason}`, { cause })
}

/** For documents and queries, where only a successful answer is useful. */
export const createOutboundFetch = ({ statuses = [200], ...rules }: OutboundOptions): OutboundFetch => {
  const request = createOutboundRequest(rules)
  return async (url, accept, { body, signal, maxBytes } = {}) => {
    const more = { signal, ...(maxBytes !== undefined && { maxBytes }) }
    const { status, bytes } =
      body === undefined
        ? await request(url, { ...more, method: 'GET', headers: { accept } })
        : await request(url, {
            ...more,
            method: 'POST',
            headers: { ...body.headers, accept, 'content-type': body.contentType },
            body: body.bytes,
          })
    if (!statuses.includes(status))
      throw failed(new Error(`the answer has status ${String(status)}`), body !== undefined)
    return bytes
  }
}
