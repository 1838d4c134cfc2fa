type Parameters = Readonly<Record<string, string>>

const encode = (parameters: Parameters): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&')

/** Appended to the URI as registered, because a URL parser would rewrite it. */
export const withQuery = (uri: string, parameters: Parameters): string =>
  `${uri}${uri.includes('?') ? '&' : '?'}${encode(parameters)}`

/** Follows OAuth 2.0 Multiple Response Types §2.1. */
export const withFragment = (uri: string, parameters: Parameters): string => `${uri}#${encode(parameters)}`
