import type { Socket } from 'node:net'

/** The answers to requests that the HTTP parser could not read, which never reach the application. */
const answers = new Map([
  ['HPE_HEADER_OVERFLOW', [431, 'Request Header Fields Too Large', 'The headers are too large.']],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', [413, 'Content Too Large', 'The body is too large.']],
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'Request Timeout', 'The request took too long to arrive.']],
] as const)

const malformed = [400, 'Bad Request', 'The request is malformed.'] as const

/** The `clientError` handler. It sends a short answer and closes the connection, so that nothing after it is read. */
export const answerBrokenRequest = (error: NodeJS.ErrnoException, socket: Socket): void => {
  const code = error.code ?? ''
  const fromParser = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT'
  if (!fromParser || !socket.writable || answerHasBegun(socket)) {
    socket.destroy()
    return
  }
  const [status, phrase, description] = answers.get(code as 'HPE_HEADER_OVERFLOW') ?? malformed
  const isPage = status === 431 && isOfBrowser(error)
  const type = isPage ? 'text/html' : 'application/json'
  const body = isPage ? cookiePage : JSON.stringify({ error: 'invalid_request', error_description: description })
  socket.end(
    `HTTP/1.1 ${status} ${phrase}\r\nContent-Type: ${type}; charset=utf-8\r\nCache-Control: no-store\r\n` +
      `Access-Control-Allow-Origin: *\r\nContent-Security-Policy: default-src 'none'\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}

/**
 * The page for cookies beyond what is parsed at all. The application's own page, in every language, is for fewer
 * cookies.
 */
const cookiePage =
  '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">' +
  '<title>Error</title><h1>Error</h1><p>Your browser sent too much data. Delete the cookies of this site, then try again.</p>'

/** Looks at what the parser received last. A browser sends its `Accept` header before its cookies. */
const isOfBrowser = (error: NodeJS.ErrnoException): boolean => {
  const { rawPacket } = error as { readonly rawPacket?: Buffer }
  return /\r\naccept:[^\r\n]*text\/html/i.test(rawPacket?.toString('latin1') ?? '')
}

/** This is the check that node:http itself makes before it answers a broken request. */
const answerHasBegun = (socket: Socket): boolean =>
  (socket as { _httpMessage?: { headersSent?: boolean } })._httpMessage?.headersSent === true
