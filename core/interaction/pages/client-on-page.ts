/** The client as a person may see it. Everything here comes from registration and is untrusted text. */
export interface ClientOnPage {
  /** `client_name`, or the `client_id` where there is none. */
  readonly name: string
  readonly logoUri?: string
  readonly policyUri?: string
  readonly tosUri?: string
}

/** Only what a browser fetches over the web: a `javascript:` link would run as this site (OIDC Registration §9.2). */
export const webAddress = (uri: string | undefined): string | undefined => {
  if (uri === undefined || !URL.canParse(uri)) return undefined
  const { protocol, href } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? href : undefined
}

/** A client as views have it. */
export const showClient = (client: ClientOnPage) => ({
  name: client.name,
  logo: webAddress(client.logoUri),
  policy: webAddress(client.policyUri),
  terms: webAddress(client.tosUri),
})
