/** Appended to the URI as it is registered: a URL parser would rewrite it. */
export const withQuery = (uri: string, parameters: Readonly<Record<string, string>>): string => {
  const query = Object.entries(parameters).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  )
  return `${uri}${uri.includes('?') ? '&' : '?'}${query.join('&')}`
}
