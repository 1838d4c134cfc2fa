import { isPublicClient, type Client } from '../clients/client.js'

/** Matches a loopback redirect URI by address, never by name, and splits it around its port (RFC 8252 §7.3, §8.3). */
const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/

/** Hosts that are this machine, where any program may listen. */
const localHost = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?:[:/?]|$)/i

/** The characters that a `Location` header may contain. */
const printable = /^[\x21-\x7e]{1,2000}$/

/** Returns a loopback redirect URI without its port; undefined for any other URI. */
const withoutPort = (uri: string): string | undefined => {
  const parts = loopback.exec(uri)
  return parts === null || Number(parts[2] ?? 80) > 65535 ? undefined : `${parts[1]}${parts[3]}`
}

/**
 * Tells whether `sent` is a redirect URI of this client. The URIs are compared character by character (RFC 9700
 * §2.1). Only a native client, and a public one whatever its type, may choose the port of a loopback address (RFC
 * 8252 §7.3, §8.3: an address, never `localhost`).
 */
export const isRegisteredRedirectUri = (client: Client, sent: string): boolean => {
  if (!printable.test(sent) || sent.includes('#')) return false
  if (client.redirect_uris.includes(sent)) return true
  if (client.application_type !== 'native' && !isPublicClient(client)) return false
  const portless = withoutPort(sent)
  return portless !== undefined && client.redirect_uris.some((registered) => withoutPort(registered) === portless)
}

/** Returns true for `http` redirect URIs on this machine, where other programs may listen, too (RFC 8252 §8.6). */
export const isLocalRedirectUri = (uri: string): boolean => localHost.test(uri)

/**
 * Tells whether another program can pose as this client at this redirect URI. Any program on the machine can take the
 * place of a public client that is native or listens on loopback (RFC 8252 §8.6).
 */
export const isImpersonable = (
  client: { readonly token_endpoint_auth_method?: string | undefined; readonly application_type?: string | undefined },
  redirectUri: string,
): boolean =>
  client.token_endpoint_auth_method === 'none' &&
  (client.application_type === 'native' || isLocalRedirectUri(redirectUri))
