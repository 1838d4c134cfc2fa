import type { ErrorFacts } from '../../oauth/errors.js'

/** The parts of a URI in the order of comparison, in the words of the page. */
const parts = [
  ['protocol', 'the scheme'],
  ['hostname', 'the host'],
  ['port', 'the port'],
  ['pathname', 'the path'],
  ['search', 'the query'],
] as const

const partsOf = (uri: string): Record<(typeof parts)[number][0], string> | undefined =>
  URL.canParse(uri) ? new URL(uri) : undefined

/** How `sent` differs from the most similar registered URI. */
const describeDifference = (sent: string, registered: readonly string[]): string | undefined => {
  const asked = partsOf(sent)
  if (asked === undefined) return 'is no absolute URI'
  const differences = registered.flatMap((uri) => {
    const known = partsOf(uri)
    if (known === undefined) return []
    if (`${sent}/` === uri || sent === `${uri}/`) return [['the slash at the end']]
    if (sent.toLowerCase() === uri.toLowerCase()) return [['upper and lower case']]
    const names = parts.flatMap(([part, name]) => (asked[part] === known[part] ? [] : [name]))
    return names.length === 0 ? [['how it is spelled']] : [names]
  })
  const [nearest] = differences.sort((left, right) => left.length - right.length)
  return nearest && `differs by ${nearest.join(', ')}`
}

/** What the page shows about an unregistered redirect URI if the issuer is on loopback, where a developer reads it. */
export const explainRedirectUri = (clientId: string, sent: string, registered: readonly string[]): ErrorFacts => ({
  client_id: clientId,
  redirect_uri: sent,
  redirect_uris: registered.slice(0, 5).join(' '),
  hint: describeDifference(sent, registered),
})
