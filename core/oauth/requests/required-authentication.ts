import type { JsonObject } from '../../json.js'

/** The requirements of a protected resource for the sign-in behind an access token (RFC 9470). Empty: none. */
export interface RequiredAuthentication {
  /** The sign-in must have one of them. */
  readonly acrValues?: readonly string[]
  /** The maximum number of seconds since the sign-in. */
  readonly maxAge?: number
}

export interface UnmetAuthentication {
  readonly description: string
  /** Parameters for the `WWW-Authenticate` header, after `error` (RFC 9470 §3). */
  readonly parameters: string
}

/** Returns undefined when the token's `acr` and `auth_time` are sufficient. `now`: seconds since the epoch. */
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
