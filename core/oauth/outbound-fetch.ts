import { lookup } from 'node:dns'
import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Unavailable } from '../unavailable.js'
import { isPrivateAddress } from './private-address.js'

export interface OutboundOptions {
  /** False: nothing in a private network or on this machine is connected to. */
  readonly allowPrivateAddresses: boolean
}

/** GETs a document from an address that a client registered. Throws `Unavailable`, whatever went wrong. */
export type OutboundFetch = (url: string, accept: string) => Promise<Uint8Array>

/** Less than the deadline of a request, so that the client hears what is down. */
const deadlineMs = 2000
const maxBytes = 65_536
const maxHeaderBytes = 16_384

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** What keeps an address from being fetched from, whoever asks; undefined: nothing. */
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
    if (first === undefined) callback(new Error('the name has no address'), [])
    else if (addresses.some(({ address }) => isPrivateAddress(address))) callback(new Error(refused), [])
    else if (options.all === true) callback(null, addresses)
    else callback(null, first.address, first.family)
  })
}

const readBody = async (response: IncomingMessage): Promise<Uint8Array> => {
  if (response.statusCode !== 200) throw new Error(`the answer has status ${String(response.statusCode)}`)
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
 * For every fetch that a client's registration asks of this server: one GET within 2 s, no redirect, at most 64 KiB, no
 * private address unless allowed, no connection kept.
 */
export const createOutboundFetch = ({ allowPrivateAddresses }: OutboundOptions): OutboundFetch => {
  const get = (url: URL, options: RequestOptions): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? requestHttps : requestHttp
      const sent = send(url, options)
      const timer = setTimeout(() => sent.destroy(new Error('the answer took too long')), deadlineMs)
      sent.on('error', reject)
      sent.on('response', (response) => {
        readBody(response)
          .then(resolve, reject)
          .finally(() => sent.destroy())
      })
      sent.on('close', () => clearTimeout(timer))
      sent.end()
    })

  return async (text, accept) => {
    try {
      const fault = findOutboundFault(text)
      if (fault !== undefined) throw new Error(`the URL ${fault}`)
      const url = new URL(text)
      const host = url.hostname.replace(/^\[|\]$/g, '')
      // An address is never looked up.
      if (!allowPrivateAddresses && isIP(host) !== 0 && isPrivateAddress(host)) throw new Error(refused)
      return await get(url, {
        agent: false,
        headers: { accept },
        maxHeaderSize: maxHeaderBytes,
        ...(!allowPrivateAddresses && { lookup: lookupPublic }),
      })
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : 'unknown error'
      throw new Unavailable('outbound', 'no', `An outbound fetch failed: ${reason}`, { cause })
    }
  }
}
