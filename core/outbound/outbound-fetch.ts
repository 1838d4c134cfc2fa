import { lookup } from 'node:dns'
import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Unavailable } from '../unavailable.js'
import { isPrivateAddress } from './private-address.js'

export interface OutboundOptions {
  /** False: nothing in a private network or on this machine is connected to. */
  readonly allowPrivateAddresses: boolean
  /** Milliseconds for one request; 2000 where it is absent, less than the deadline of a request to us. */
  readonly deadlineMs?: number
  /** The statuses of answers that are taken; 200 where it is absent. */
  readonly statuses?: readonly number[]
}

/** What is POSTed. */
export interface OutboundBody {
  readonly contentType: string
  readonly bytes: Uint8Array
  /** Beside `accept`, `content-type` and `content-length`. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * GETs a document, or POSTs `body` and returns the answer's. Throws `Unavailable`, whatever went wrong: another status
 * too. `signal` ends it before its own deadline; `maxBytes` lets an answer of the deployer's own choice be longer than 64 KiB.
 */
export type OutboundFetch = (
  url: string,
  accept: string,
  more?: { readonly body?: OutboundBody; readonly signal?: AbortSignal; readonly maxBytes?: number },
) => Promise<Uint8Array>

const defaultMaxBytes = 65_536
const maxHeaderBytes = 16_384

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Why an address must not be fetched from; undefined: it may be. */
export const findOutboundFault = (value: string): string | undefined => {
  if (!URL.canParse(value)) return 'must be an absolute URL'
  const { protocol, hostname, username, password } = new URL(value)
  if (protocol !== 'https:' && !(protocol === 'http:' && loopback.test(hostname)))
    return 'must be https: http is for loopback addresses only'
  if (username !== '' || password !== '') return 'must not carry credentials'
  return value.includes('#') ? 'must have no fragment' : undefined
}

const refused = 'the address is private: see outbound.allow_private_addresses'

/**
 * The address that was checked is the one that is connected to: a name that resolves to another one a moment later
 * gains nothing. Names are resolved on the thread pool, of which libuv leaves half to everything else.
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

interface AnswerRules {
  readonly statuses: readonly number[]
  readonly maxBytes: number
}

const readBody = async (response: IncomingMessage, { statuses, maxBytes }: AnswerRules): Promise<Uint8Array> => {
  if (!statuses.includes(response.statusCode ?? 0))
    throw new Error(`the answer has status ${String(response.statusCode)}`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * For every fetch of this server: one request within a deadline, no redirect, an answer of at most 64 KiB unless the caller says
 * otherwise, no private address unless allowed, no connection kept.
 */
export const createOutboundFetch = ({
  allowPrivateAddresses,
  deadlineMs = 2000,
  statuses = [200],
}: OutboundOptions): OutboundFetch => {
  const send = (url: URL, options: RequestOptions, maxBytes: number, body?: Uint8Array): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const request = url.protocol === 'https:' ? requestHttps : requestHttp
      const sent = request(url, options)
      const timer = setTimeout(() => sent.destroy(new Error('the answer took too long')), deadlineMs)
      sent.on('error', reject)
      sent.on('response', (response) => {
        readBody(response, { statuses, maxBytes })
          .then(resolve, reject)
          .finally(() => sent.destroy())
      })
      sent.on('close', () => clearTimeout(timer))
      sent.end(body)
    })

  return async (text, accept, { body, signal, maxBytes = defaultMaxBytes } = {}) => {
    try {
      const fault = findOutboundFault(text)
      if (fault !== undefined) throw new Error(`the URL ${fault}`)
      const url = new URL(text)
      const host = url.hostname.replace(/^\[|\]$/g, '')
      // An address is never looked up.
      if (!allowPrivateAddresses && isIP(host) !== 0 && isPrivateAddress(host)) throw new Error(refused)
      const options: RequestOptions = {
        agent: false,
        headers: { accept },
        maxHeaderSize: maxHeaderBytes,
        ...(!allowPrivateAddresses && { lookup: lookupPublic }),
        ...(signal && { signal }),
      }
      if (body === undefined) return await send(url, options, maxBytes)
      const { contentType, bytes, headers } = body
      const described = { ...headers, accept, 'content-type': contentType, 'content-length': bytes.byteLength }
      return await send(url, { ...options, method: 'POST', headers: described }, maxBytes, bytes)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : 'unknown error'
      // What was POSTed may have been read.
      const applied = body === undefined ? 'no' : 'unknown'
      throw new Unavailable('outbound', applied, `An outbound fetch failed: ${reason}`, { cause })
    }
  }
}
