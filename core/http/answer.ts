import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply } from '../endpoints/message.js'
import { limitPieces } from './body-bytes.js'
import type { Context } from './exchange.js'
import { pagePolicy } from './security-headers.js'
import { sendTogether } from './send-together.js'

/** Returns true when the client still has a body to send that will not be read. */
export const bodyPending = (request: IncomingMessage): boolean =>
  !request.complete &&
  (request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0)

/**
 * Writes the answer in one go on `res`, because Koa's own way through `ctx.body` costs a third of a small request.
 * Does nothing when the answer is under way or the client is gone.
 */
export const answer = (ctx: Context, reply: Reply): void => {
  ctx.respond = false
  const { req, res, state } = ctx
  if (res.headersSent || res.destroyed) return
  const headers = state.headers.slice()
  if (reply.headers['Content-Type']?.startsWith('text/html') === true) {
    const own: Reply['headers'] =
      reply.images === undefined
        ? reply.headers
        : { 'Content-Security-Policy': pagePolicy(reply.images), ...reply.headers }
    for (const name in own) headers.push(name, own[name] as string)
    for (const name in state.pageHeaders) if (!(name in own)) headers.push(name, state.pageHeaders[name] as string)
  } else {
    for (const name in reply.headers) headers.push(name, reply.headers[name] as string)
  }
  if (reply.cookies !== undefined) for (const cookie of reply.cookies) headers.push('Set-Cookie', cookie)
  const body = reply.body ?? ''
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  if (reply.status !== 204 && reply.status !== 304) headers.push('Content-Length', String(bytes))
  if (bodyPending(req)) {
    if (!('Connection' in reply.headers)) headers.push('Connection', 'close')
    res.writeHead(reply.status, headers)
    if (body !== '') res.write(body)
    else res.flushHeaders()
    linger(req, res)
  } else {
    res.writeHead(reply.status, headers)
    // The text has one byte for each character, so it is copied instead of encoded, in one piece with the headers.
    const isLatin1 = typeof body === 'string' && bytes === body.length
    sendTogether(() => (isLatin1 ? res.end(body, 'latin1') : res.end(body)))
  }
}

const lingerBytes = 256 * 1024
const lingerMs = 1000

/**
 * Reads and discards a little of an unwanted body before closing. Closing at once resets the connection, and the
 * client loses the answer (RFC 9112 §9.6).
 */
const linger = (request: IncomingMessage, response: ServerResponse): void => {
  let left = lingerBytes
  const close = (): void => {
    clearTimeout(timer)
    request.removeAllListeners('data')
    response.end()
  }
  const timer = setTimeout(close, lingerMs)
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) close()
  })
  limitPieces(request)
  request.once('end', close)
  request.once('error', close)
  request.resume()
}
