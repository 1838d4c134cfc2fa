/** The six cookies that we set, however many logins run in parallel in one browser. */
export interface Cookies {
  /** Name of the cookie that carries the session. */
  readonly session: string
  /** Name of the cookie that carries the sessions of other people who are signed in in the same browser: four at most. */
  readonly otherSessions: string
  /** Name of the cookie that ties interactions to the browser that began them. */
  readonly browser: string
  /** Name of the cookie that proves who has signed in in this browser before. It signs nobody in. */
  readonly knownBrowser: string
  /** Name of the cookie that carries the id of the method last used to sign in in this browser. */
  readonly method: string
  /** Name of the cookie of a person who came to `/account` by a recovery link. It signs nobody in. */
  readonly recovery: string
  /** Returns a `Set-Cookie` value. Without `maxAgeSeconds` the cookie ends with the browser session. */
  set(name: string, value: string, maxAgeSeconds?: number): string
}

/**
 * Creates the cookies of an issuer. `__Host-` prevents other hosts of the domain from setting cookies of these names
 * (RFC 6265bis §4.1.3.2); it needs https and the path `/`. `Lax` is needed because people come here by links of other
 * sites.
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
