import { fetchText, type Fetch } from './fetch-text.js'
import { isObject } from './jws.js'
import { TokenRefused } from './token-refusal.js'

/** Where to ask whether a token was revoked, and as which client (RFC 7662 §2.1, `client_secret_basic`). */
export interface IntrospectionOptions {
  readonly endpoint: string
  readonly clientId: string
  readonly clientSecret: string
}

const mostBytes = 65_536

/** RFC 6749 §2.3.1. */
const formEncode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

/** Asks for each token. Throws `token_revoked`, and `introspection_unavailable` for every answer but a plain one. */
export const createIntrospection = ({ endpoint, clientId, clientSecret }: IntrospectionOptions, fetcher: Fetch) => {
  const credentials = Buffer.from(`${formEncode(clientId)}:${formEncode(clientSecret)}`).toString('base64')
  const headers = {
    accept: 'application/json',
    authorization: `Basic ${credentials}`,
    'content-type': 'application/x-www-form-urlencoded',
  }

  const ask = async (token: string): Promise<unknown> => {
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' }).toString()
    try {
      const answer: unknown = JSON.parse(
        await fetchText(fetcher, endpoint, { method: 'POST', headers, body }, mostBytes),
      )
      return isObject(answer) ? answer['active'] : undefined
    } catch (cause) {
      throw new TokenRefused('introspection_unavailable', cause)
    }
  }

  return async (token: string): Promise<void> => {
    const active = await ask(token)
    if (active === false) throw new TokenRefused('token_revoked')
    if (active !== true) throw new TokenRefused('introspection_unavailable')
  }
}
