import { longestLifetimeSeconds } from './names.js'

/** The contents of a request signature. Times are seconds since the epoch. */
export interface RequestClaims {
  readonly iat: number
  readonly exp: number
  readonly jti: string
  /** The method in upper case. */
  readonly mth: string
  /** The path as in the request, percent-encoding included, without the query. */
  readonly pth: string
  /** The audience of the verifier. */
  readonly aud: string
  /**
   * SHA-256 of the query without its `?`, as in the request, in lower-case hexadecimal. Present exactly when there is
   * a query.
   */
  readonly qsh?: string
  /** SHA-256 of the body in lower-case hexadecimal. Present exactly when the body has at least one byte. */
  readonly bdh?: string
}

export interface RequestTarget {
  readonly pth: string
  /** Absent if the target has no `?`, or nothing after it. */
  readonly query?: string
}

/** Splits a request target in origin form, such as `/payments?from=1`, without changing a character. */
export const splitTarget = (target: string): RequestTarget => {
  const mark = target.indexOf('?')
  if (mark === -1) return { pth: target }
  const query = target.slice(mark + 1)
  return { pth: target.slice(0, mark), ...(query !== '' && { query }) }
}

/** Longer ids are refused, because ids have to be remembered. */
export const maxIdLength = 256

/** Why a request signature does not belong to a request. These are the names of the refusals. */
export type RequestMismatch = 'method_mismatch' | 'path_mismatch' | 'audience_mismatch' | 'query_mismatch'

/** A whole number of seconds since the epoch (RFC 7519 §2, without fractions). */
export const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const sha256 = /^[0-9a-f]{64}$/
const isHash = (value: unknown): value is string | undefined =>
  value === undefined || (typeof value === 'string' && sha256.test(value))
const isText = (value: unknown): value is string => typeof value === 'string'

/** Undefined if these are not the claims of a request signature. */
export const readRequestClaims = (payload: Readonly<Record<string, unknown>>): RequestClaims | undefined => {
  const { iat, exp, jti, mth, pth, aud, qsh, bdh } = payload
  if (!isTime(iat) || !isTime(exp) || !isHash(qsh) || !isHash(bdh)) return undefined
  if (!isText(jti) || jti === '' || jti.length > maxIdLength) return undefined
  if (!isText(mth) || !isText(pth) || !isText(aud)) return undefined
  return { iat, exp, jti, mth, pth, aud, ...(qsh !== undefined && { qsh }), ...(bdh !== undefined && { bdh }) }
}

/** Whether a signature is valid at `now`, and its lifetime is allowed. In seconds. */
export const timeProblem = (
  iat: number,
  exp: number,
  now: number,
  skew: number,
): 'signature_expired' | 'lifetime_too_long' | undefined => {
  if (now < iat - skew || now > exp + skew) return 'signature_expired'
  return exp <= iat || exp - iat > longestLifetimeSeconds ? 'lifetime_too_long' : undefined
}

/**
 * Which part of the request line differs from what was signed. `hash` is the SHA-256 of a text in lower-case
 * hexadecimal.
 */
export const targetProblem = (
  claims: RequestClaims,
  request: RequestTarget & { readonly method: string },
  audience: string,
  hash: (text: string) => string,
): RequestMismatch | undefined => {
  if (claims.mth !== request.method) return 'method_mismatch'
  if (claims.pth !== request.pth || !request.pth.startsWith('/')) return 'path_mismatch'
  if (claims.aud !== audience) return 'audience_mismatch'
  return claims.qsh === (request.query === undefined ? undefined : hash(request.query)) ? undefined : 'query_mismatch'
}
