/** The six cookies that we set, however many logins run side by side in one browser. */
export interface Cookies {
  /** Name of the cookie that carries the session. */
  readonly session: string
  /** Name of the cookie that carries the sessions of other people who are signed in in the same browser: four at most. */
  readonly otherSessions: string
  /** Name of the cookie that ties interactions to the browser that began them. */
  readonly browser: string
  /** Name of the cookie that proves who has signed in in this browser before. It signs nobody in. */
  readonly knownBrowser: string
  /** Name of the cookie that carries the id of the method by which somebody has last signed in in this browser. */
  readonly method: string
  /** Name of the cookie of somebody who came to `/account` by a recovery link. It signs nobody in. */
  readonly recovery: string
  /** A `Set-Cookie` value; without `maxAgeSeconds` the cookie ends with the browser. */
  set(name: string, value: string, maxAgeSeconds?: number): string
}

/**
 * Cookies of an issuer. `__Host-` keeps other hosts of the domain from tossing theirs in (RFC 6265bis §4.1.3.2); it
 * needs https and the path `/`. `Lax`, because people come to us by following links of other sites.
 */
export const createCookies = (issuer: string): Cookies => {
  const { protocol, pathname } = new URL(issuer)
  const secure = protocol === 'https:'
  const prefix = secure && pathname === '/' ? '__Host-' : ''
  const attributes = `; Path=${pathname}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  return {
    session: `${prefix}signet-session`,
    otherSessions: `${prefix}signet-other-sessions`,
    browser: `${prefix}signet-browser`,
    knownBrowser: `${prefix}signet-known-browser`,
    method: `${prefix}signet-method`,
    recovery: `${prefix}signet-recovery`,
    set: (name, value, maxAgeSeconds) =>
      `${name}=${value}${attributes}${maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`}`,
  }
}
