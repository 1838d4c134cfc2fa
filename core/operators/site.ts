/** The path at which operators sign in. */
export const signInPath = '/console/sign-in'

/** The address under which a browser reaches the admin listener. */
export interface AdminSite {
  readonly origin: string
  /** The RP ID of passkeys (Web Authentication Level 3 §4). */
  readonly hostname: string
  /** The path before every path of the listener; empty unless a proxy passes requests on under one. */
  readonly path: string
  readonly isSecure: boolean
}

/** Finds out under which address a request came. Undefined for a `Host` that is not ours (DNS rebinding). */
export type FindSite = (request: { header(name: string): string | undefined }) => AdminSite | undefined

const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

const siteAt = (url: string): AdminSite => {
  const { origin, hostname, pathname, protocol } = new URL(url)
  return { origin, hostname, path: pathname === '/' ? '' : pathname, isSecure: protocol === 'https:' }
}

/**
 * With `baseUrl`, `admin.base_url`, requests must name its host. Without it browsers reach the listener by any name of
 * loopback, and by none when it has TLS, whose name it does not know.
 */
export const createFindSite = (baseUrl: string | undefined, { hasTls }: { readonly hasTls: boolean }): FindSite => {
  if (baseUrl !== undefined) {
    const [site, { host }] = [siteAt(baseUrl), new URL(baseUrl)]
    const isOurs = new Set([host, ...(new URL(baseUrl).port === '' ? [`${host}:${site.isSecure ? '443' : '80'}`] : [])])
    return (request) => (isOurs.has((request.header('host') ?? '').toLowerCase()) ? site : undefined)
  }
  return (request) => {
    const host = request.header('host') ?? ''
    return !hasTls && loopbackHost.test(host) ? siteAt(`http://${host.toLowerCase()}`) : undefined
  }
}

/** Tells whether a page of this site, or a person who typed the address, sent the request (Fetch Metadata §2.3). */
export const isOfSite = (
  { origin }: AdminSite,
  request: { readonly method: string; header(name: string): string | undefined },
): boolean => {
  const [from, relation] = [request.header('origin'), request.header('sec-fetch-site')]
  // Our pages have the policy `no-referrer`, so browsers send their forms with the origin `null` (Fetch §3.2).
  if (from !== undefined && from !== origin && !(from === 'null' && relation === 'same-origin')) return false
  if (request.method === 'GET') return relation === undefined || relation === 'same-origin' || relation === 'none'
  return relation === 'same-origin' || (relation === undefined && from === origin)
}
