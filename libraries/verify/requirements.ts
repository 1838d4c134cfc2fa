import { checkMembers, kinds } from '../wire/options.js'
import type { AccessToken } from './access-token.js'
import { TokenRefused } from './token-refusal.js'

/** What a request's access token must satisfy. */
export interface Requirements {
  /** Required scopes, separated by spaces. The token must have all of them. */
  readonly scope?: string
  /** Accepted `acr` values of the person's sign-in (RFC 9470 §3). */
  readonly acrValues?: readonly string[]
  /** Maximum seconds since the person's sign-in (RFC 9470 §3). */
  readonly maxAge?: number
}

/** The requirements in the form of challenges. */
export interface ChallengeParameters {
  readonly scope: string | undefined
  readonly acrValues: string | undefined
  readonly maxAge: number | undefined
}

/** RFC 6749 §3.3. */
const words = /^[!#-[\]-~]+(?: [!#-[\]-~]+)*$/

const members = { scope: kinds.text, acrValues: kinds.list, maxAge: kinds.number }

/** Throws a `TypeError` for values that a challenge cannot express, and for unknown members. */
export const challengeParameters = (needed: Requirements): ChallengeParameters => {
  checkMembers('requirements', needed, members)
  const { scope, acrValues, maxAge } = needed
  if (scope !== undefined && !words.test(scope)) throw new TypeError('scope is not a list of scopes')
  if (acrValues?.every((value) => typeof value === 'string') === false)
    throw new TypeError('acrValues has no value, or one that is none')
  const values = acrValues?.join(' ')
  if (values !== undefined && !words.test(values)) throw new TypeError('acrValues has no value, or one that is none')
  if (maxAge !== undefined && !(Number.isSafeInteger(maxAge) && maxAge >= 0))
    throw new TypeError('maxAge is not a number of seconds')
  return { scope, acrValues: values, maxAge }
}

/** `now` is in seconds since the epoch. Throws `insufficient_scope` and `insufficient_user_authentication`. */
export const checkRequirements = (token: AccessToken, needed: Requirements, now: number): void => {
  const { scope, acrValues, maxAge } = needed
  if (scope !== undefined && !scope.split(' ').every((word) => token.scope.includes(word)))
    throw new TokenRefused('insufficient_scope')
  const { acr, auth_time: authTime } = token.claims
  if (acrValues && !acrValues.includes(acr as string)) throw new TokenRefused('insufficient_user_authentication')
  if (maxAge !== undefined && !(typeof authTime === 'number' && now - authTime <= maxAge))
    throw new TokenRefused('insufficient_user_authentication')
}
