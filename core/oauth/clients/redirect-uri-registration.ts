import { isLocalRedirectUri } from '../requests/redirect-uri.js'

/** Schemes other than http need a dot, which excludes those that a browser must never be sent to. */
const privateUse = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+$/

/**
 * Explains why a URI may not be registered as a redirect URI; undefined when it may. It must be absolute, without
 * fragment (RFC 6749 §3.1.2) and without pattern (RFC 9700 §2.1). It must be https, or http on loopback (RFC 8252
 * §7.3), or for native clients a scheme of their own domain (RFC 8252 §7.1).
 */
export const findRedirectUriFault = (uri: string, applicationType: 'web' | 'native'): string | undefined => {
  if (/[^\0-\x7f]/.test(uri)) return 'must be ASCII: write the host as xn--… (RFC 5891 §4.4), other letters as %xx'
  if (!/^[\x21-\x7e]{1,2000}$/.test(uri) || /[\\"<>^`{|}]/.test(uri))
    return 'must be 1 to 2000 characters that a URI may hold'
  if (!URL.canParse(uri)) return 'must be an absolute URI'
  if (uri.includes('#')) return 'must have no fragment (RFC 6749 §3.1.2)'
  if (uri.includes('*')) return 'must be exact: there are no wildcards (RFC 9700 §2.1)'
  const url = new URL(uri)
  if (url.username !== '' || url.password !== '') return 'must not carry credentials'
  const scheme = url.protocol.slice(0, -1)
  if (scheme === 'https' || scheme === 'http') {
    if (!/^https?:\/\/[^/]/i.test(uri)) return 'must be written with // and a host'
    if (scheme === 'http' && !isLocalRedirectUri(uri))
      return 'must be https: http is for loopback addresses only (RFC 8252 §7.3)'
    return undefined
  }
  if (!privateUse.test(scheme))
    return 'must be https, or the private-use scheme of a native client, such as com.example.app (RFC 8252 §7.1)'
  if (applicationType !== 'native')
    return 'a private-use scheme is for clients with application_type native (RFC 8252 §7.1)'
  return undefined
}
