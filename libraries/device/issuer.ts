import { userAgent } from '../wire/user-agent.js'
import { DeviceError, type DeviceErrorCode } from './errors.js'

export type Json = Readonly<Record<string, unknown>>

/** Sends a request to a path below the issuer, and gives what a 2xx answer has. Throws `DeviceError`. */
export type Ask = (path: string, request: RequestInit) => Promise<Json>

/** Milliseconds. */
const answerWithin = 10_000
/** Seconds: whatever an answer says, nobody asks again at once, or a day later. */
const shortestPause = 1
const longestPause = 3600

/** A page names its browser, and a header that it sets itself costs a preflight request. */
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
        // Nobody else gets the second factor, or a signature.
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

/** What a proxy answers, or an issuer that fails. */
const nameOf = (status: number): DeviceErrorCode => {
  if (status === 429) return 'RateLimited'
  return status >= 500 ? 'Unreachable' : 'UnexpectedAnswer'
}
