/** The client as a person may see it. All of it comes from registration and is untrusted text. */
export interface ClientOnPage {
  /** The deployment may have given this client a theme of its own. */
  readonly clientId?: string
  /** `client_name`, or the `client_id` where there is none. */
  readonly name: string
  readonly logoUri?: string
  readonly clientUri?: string
  readonly policyUri?: string
  readonly tosUri?: string
  /** Anyone could have registered it, so the page says so. */
  readonly isUnchecked?: boolean
  /**
   * The host that the browser returns to. Absent when it returns to an application on the device, or does not return.
   */
  readonly returnsTo?: string
}

/**
 * Accepts only URLs that a browser fetches over the web, because a `javascript:` link would run as this site (OIDC
 * Registration §9.2).
 */
export const webAddress = (uri: string | undefined): string | undefined => {
  if (uri === undefined || !URL.canParse(uri)) return undefined
  const { protocol, href } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? href : undefined
}

/**
 * Returns the origin of a logo in the form of a Content-Security-Policy. Returns undefined for a host that would mean
 * something else there: URLs may have hosts such as `*` and `a;b`, and a policy cannot express IPv6 addresses.
 */
export const logoOrigin = (uri: string | undefined): string | undefined => {
  const address = webAddress(uri)
  if (address === undefined) return undefined
  const { origin } = new URL(address)
  return /^https?:\/\/[a-z0-9._-]+(?::\d+)?$/.test(origin) ? origin : undefined
}

/** Returns the origins from which a page with these clients loads their logos. */
export const logoOrigins = (clients: readonly (Pick<ClientOnPage, 'logoUri'> | undefined)[]): readonly string[] => [
  ...new Set(clients.map((client) => logoOrigin(client?.logoUri)).filter((origin) => origin !== undefined)),
]

/** Returns a client in the form that views use. */
export const showClient = (client: ClientOnPage) => ({
  name: client.name,
  isUnchecked: client.isUnchecked === true,
  returnsTo: client.returnsTo,
  logo: logoOrigin(client.logoUri) && webAddress(client.logoUri),
  website: webAddress(client.clientUri),
  policy: webAddress(client.policyUri),
  terms: webAddress(client.tosUri),
})
