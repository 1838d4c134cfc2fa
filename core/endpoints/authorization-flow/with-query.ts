type Parameters = Readonly<Record<string, string>>

const encode = (parameters: Parameters): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&')

/** Appended to the URI as it is registered: a URL parser would rewrite it. */
export const withQuery = (uri: string, parameters: Parameters): string =>
  `${uri}${uri.includes('?') ? '&' : '?'}${encode(parameters)}`

/** As OAuth 2.0 Multiple Response Types §2.1 has it. */
export const withFragment = (uri: string, parameters: Parameters): string => `${uri}#${encode(parameters)}`
