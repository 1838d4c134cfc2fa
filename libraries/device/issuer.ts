import { userAgent } from '../wire/user-agent.js'
import { DeviceError, type DeviceErrorCode } from './errors.js'

export type Json = Readonly<Record<string, unknown>>

/** Sends a request to a path below the issuer, and returns the body of a 2xx answer. Throws `DeviceError`. */
export type Ask = (path: string, request: RequestInit) => Promise<Json>

/** Milliseconds. */
const answerWithin = 10_000
/** In seconds. Bounds the pause between requests, whatever an answer says. */
const shortestPause = 1
const longestPause = 3600

/** A page's browser sends its own name, and a header set here would cost a preflight request. */
const isPage = 'document' in globalThis || 'importScripts' in globalThis

export const createAsk =
  (issuer: string, fetcher: typeof fetch): Ask =>
  async (path, request) => {
    const timeout = AbortSignal.timeout(answerWithin)
    const { signal } = request
    const headers = new Headers(request.headers)
    if (!isPage) headers.set('user-agent', userAgent)
    try {
      const response = await fetcher(`${issuer}${path}`, {
        ...request,
        headers,
        credentials: 'omit',
        // The second factor and signatures must not be sent anywhere else.
        redirect: 'error',
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      })
      if (!response.ok) throw refusal(response, toObject(await response.json().catch(() => undefined)))
      return toObject(await response.json())
    } catch (cause) {
      throw cause instanceof DeviceError ? cause : unreachable(cause)
    }
  }

const toObject = (answer: unknown): Json => (typeof answer === 'object' && answer !== null ? (answer as Json) : {})

export const unreachable = (cause: unknown): DeviceError =>
  new DeviceError('Unreachable', 'The issuer did not answer.', { cause })

const refusal = ({ status, headers }: Response, { error_code: code, error_description: said }: Json): DeviceError => {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const wait = Math.min(longestPause, Math.max(shortestPause, seconds))
  const retry = Number.isFinite(seconds) ? { retryAfterSeconds: wait } : {}
  if (typeof code === 'string') return new DeviceError(code, String(said), retry)
  return new DeviceError(nameOf(status), `The issuer answered ${String(status)}.`, retry)
}

/** The error for an answer of a proxy or of a failing issuer. */
const nameOf = (status: number): DeviceErrorCode => {
  if (status === 429) return 'RateLimited'
  return status >= 500 ? 'Unreachable' : 'UnexpectedAnswer'
}
