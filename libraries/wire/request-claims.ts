/** What a request signature says of its request. Times are seconds since the epoch. */
export interface RequestClaims {
  readonly iat: number
  readonly exp: number
  readonly jti: string
  /** The method, in upper case. */
  readonly mth: string
  /** The path as it is in the request, percent-encoding included, without the query. */
  readonly pth: string
  /** The audience of the verifier. */
  readonly aud: string
  /** SHA-256 of the query without its `?`, as it is in the request, in lower-case hexadecimal. Present exactly when there is a query. */
  readonly qsh?: string
  /** SHA-256 of the body, in lower-case hexadecimal. Present exactly when there is a body, of a byte or more. */
  readonly bdh?: string
}

export interface RequestTarget {
  readonly pth: string
  /** Absent: the target has no `?`, or nothing after it. */
  readonly query?: string
}

/** Splits a request target in origin form, such as `/payments?from=1`, without changing a character of it. */
export const splitTarget = (target: string): RequestTarget => {
  const mark = target.indexOf('?')
  if (mark === -1) return { pth: target }
  const query = target.slice(mark + 1)
  return { pth: target.slice(0, mark), ...(query !== '' && { query }) }
}
