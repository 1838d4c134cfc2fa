import type { Message } from './message.js'
import { TokenRefused } from './token-refusal.js'

export interface Credentials {
  readonly scheme: 'Bearer' | 'DPoP'
  /** The access token. */
  readonly text: string
}

/** Characters. */
const longestToken = 8192
const form = /^\w+ +([\w~+/.-]+=*)$/

/** The access token of a request, accepted only in the header `Authorization` (RFC 6750 §2.1, RFC 9449 §7.1). */
export const readCredentials = ({ headers }: Message): Credentials => {
  const authorization = headers.get('authorization') ?? ''
  const [word = ''] = authorization.split(' ', 1)
  const scheme = (['Bearer', 'DPoP'] as const).find((name) => name.toLowerCase() === word.toLowerCase())
  // Credentials of another scheme do not count (RFC 6750 §3.1).
  if (scheme === undefined) throw new TokenRefused('missing_token')
  if (authorization.length > longestToken) throw new TokenRefused('header_too_large')
  const [, text] = form.exec(authorization) ?? []
  if (text === undefined) throw new TokenRefused('malformed')
  return { scheme, text }
}
