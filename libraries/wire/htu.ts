// RFC 3986 §3.1–§3.3, without anything that a browser would repair and without user information, which no endpoint
// has.
const form =
  /^(https?):\/\/([\w.~!$&'()*+,;=%-]+|\[[\da-f:.]+\])(?::(\d{0,5}))?((?:\/[\w.~!$&'()*+,;=:@%-]*)*)(?:[?#][\x21-\x7e]*)?$/i

const unreserved = /[\w.~-]/

/** RFC 3986 §6.2.2.1, §6.2.2.2. Undefined for an incomplete percent-encoding. */
const normalisePercent = (text: string): string | undefined => {
  if (!text.includes('%')) return text
  if (/%(?![\da-f]{2})/i.test(text)) return undefined
  return text.replaceAll(/%[\da-f]{2}/gi, (triplet) => {
    const character = String.fromCharCode(parseInt(triplet.slice(1), 16))
    return unreserved.test(character) ? character : triplet.toUpperCase()
  })
}

/** RFC 3986 §5.2.4. */
const removeDotSegments = (path: string): string => {
  const kept: string[] = []
  const segments = path.split('/').slice(1)
  segments.forEach((segment, index) => {
    if (segment === '..') kept.pop()
    else if (segment !== '.') kept.push(segment)
    if ((segment === '.' || segment === '..') && index === segments.length - 1) kept.push('')
  })
  return `/${kept.join('/')}`
}

/**
 * An `htu` without query and fragment (RFC 9449 §4.3), normalised by syntax and scheme (RFC 3986 §6.2.2, §6.2.3).
 * Undefined if it is not an http or https URI.
 */
export const normaliseHtu = (htu: string): string | undefined => {
  const match = form.exec(htu)
  if (match === null) return undefined
  const [, scheme = '', host = '', port = '', path = ''] = match
  const lower = scheme.toLowerCase()
  const name = normalisePercent(host)?.toLowerCase()
  const decoded = normalisePercent(path)
  if (name === undefined || decoded === undefined) return undefined
  const number = port === '' || Number(port) === (lower === 'https' ? 443 : 80) ? '' : `:${Number(port)}`
  return `${lower}://${name}${number}${removeDotSegments(decoded)}`
}

/** Whether an `htu` names this URL (RFC 9449 §4.3). */
export const isSameTarget = (htu: string, url: string): boolean => {
  if (htu === url) return true
  const normalised = normaliseHtu(htu)
  return normalised !== undefined && normalised === normaliseHtu(url)
}
