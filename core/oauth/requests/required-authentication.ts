import type { JsonObject } from '../../json.js'

/** What a protected resource asks of the sign-in behind an access token (RFC 9470). Empty: nothing. */
export interface RequiredAuthentication {
  /** One of them. */
  readonly acrValues?: readonly string[]
  /** Seconds since the sign-in, at most. */
  readonly maxAge?: number
}

export interface UnmetAuthentication {
  readonly description: string
  /** For the `WWW-Authenticate` header, after `error` (RFC 9470 §3). */
  readonly parameters: string
}

/** Undefined when the token's `acr` and `auth_time` do. `now`: seconds since the epoch. */
export const checkAuthentication = (
  { acrValues, maxAge }: RequiredAuthentication,
  { acr, auth_time: authTime }: JsonObject,
  now: number,
): UnmetAuthentication | undefined => {
  const isStrong = acrValues === undefined || (typeof acr === 'string' && acrValues.includes(acr))
  const isRecent = maxAge === undefined || (typeof authTime === 'number' && now - authTime <= maxAge)
  if (isStrong && isRecent) return undefined
  const description = isStrong
    ? 'A more recent authentication is required.'
    : 'A different authentication level is required.'
  const parameters = [
    `, error_description="${description}"`,
    acrValues === undefined ? '' : `, acr_values="${acrValues.join(' ')}"`,
    maxAge === undefined ? '' : `, max_age="${String(maxAge)}"`,
  ]
  return { description, parameters: parameters.join('') }
}
