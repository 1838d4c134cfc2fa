/** The client as a person may see it. Everything here comes from registration and is untrusted text. */
export interface ClientOnPage {
  /** By which the deployment may have given it a look of its own. */
  readonly clientId?: string
  /** `client_name`, or the `client_id` where there is none. */
  readonly name: string
  readonly logoUri?: string
  readonly clientUri?: string
  readonly policyUri?: string
  readonly tosUri?: string
  /** Anybody could have registered it, so the page says so. */
  readonly isUnchecked?: boolean
  /** The host that the browser returns to. Absent: it returns to an application of the device, or not at all. */
  readonly returnsTo?: string
}

/** Only what a browser fetches over the web: a `javascript:` link would run as this site (OIDC Registration §9.2). */
export const webAddress = (uri: string | undefined): string | undefined => {
  if (uri === undefined || !URL.canParse(uri)) return undefined
  const { protocol, href } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? href : undefined
}

/**
 * The origin of a logo, as a Content-Security-Policy names it. Undefined for a host that would mean something else there:
 * URLs may have hosts such as `*` and `a;b`, and a policy has no IPv6 addresses.
 */
export const logoOrigin = (uri: string | undefined): string | undefined => {
  const address = webAddress(uri)
  if (address === undefined) return undefined
  const { origin } = new URL(address)
  return /^https?:\/\/[a-z0-9._-]+(?::\d+)?$/.test(origin) ? origin : undefined
}

/** Where a page with these clients takes their logos from. */
export const logoOrigins = (clients: readonly (Pick<ClientOnPage, 'logoUri'> | undefined)[]): readonly string[] => [
  ...new Set(clients.map((client) => logoOrigin(client?.logoUri)).filter((origin) => origin !== undefined)),
]

/** A client as views have it. */
export const showClient = (client: ClientOnPage) => ({
  name: client.name,
  isUnchecked: client.isUnchecked === true,
  returnsTo: client.returnsTo,
  logo: logoOrigin(client.logoUri) && webAddress(client.logoUri),
  website: webAddress(client.clientUri),
  policy: webAddress(client.policyUri),
  terms: webAddress(client.tosUri),
})
