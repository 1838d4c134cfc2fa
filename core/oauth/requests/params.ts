import { OAuthError } from '../errors.js'

/** Flat request parameters. A name that came more than once is in `repeated` and has its first value in `values`. */
export interface ParameterList {
  readonly values: ReadonlyMap<string, string>
  readonly repeated: ReadonlySet<string>
  /**
   * Returns every value of a name, in order. It is for `resource`, the only parameter that may be repeated (RFC 8707
   * §2).
   */
  all(name: string): readonly string[]
}

const noValues: readonly string[] = []

export const noParameters: ParameterList = { values: new Map(), repeated: new Set(), all: () => noValues }

const maxParameters = 100

/**
 * Reads `application/x-www-form-urlencoded` text into flat strings. Brackets in a name mean nothing. Parameters
 * without a value count as not sent (RFC 6749 §3.1). Throws `invalid_request` on bad percent-encoding, bytes that are
 * not UTF-8, NUL, or more than 100 parameters.
 */
export const parseParameters = (text: string): ParameterList => {
  if (text === '') return noParameters
  const values = new Map<string, string>()
  const repeated = new Set<string>()
  const seen = new Set<string>()
  const further: [string, string][] = []
  let start = 0
  let count = 0
  while (start <= text.length) {
    let end = text.indexOf('&', start)
    if (end === -1) end = text.length
    if (end > start) {
      if (++count > maxParameters) throw new OAuthError('invalid_request', 'The request has too many parameters.')
      const equals = text.indexOf('=', start)
      const split = equals === -1 || equals > end ? end : equals
      const name = decode(text.slice(start, split))
      const value = decode(text.slice(Math.min(split + 1, end), end))
      if (seen.has(name)) repeated.add(name)
      else seen.add(name)
      if (value !== '') {
        if (values.has(name)) further.push([name, value])
        else values.set(name, value)
      }
    }
    start = end + 1
  }
  const all = (name: string): readonly string[] => {
    const first = values.get(name)
    if (first === undefined) return noValues
    return [first, ...further.filter(([other]) => other === name).map(([, value]) => value)]
  }
  return { values, repeated, all }
}

const plain = /^[\w\-.~:/@!$'()*,; ]*$/

const decode = (text: string): string => {
  if (plain.test(text)) return text
  let value: string
  try {
    value = decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new OAuthError('invalid_request', 'A parameter is not encoded correctly.', { cause })
  }
  if (value.includes('\0')) throw new OAuthError('invalid_request', 'A parameter is not encoded correctly.')
  return value
}

/**
 * Lists parameters that did not come as a form under the same rules. Throws `invalid_request` on NUL and on more than
 * 100.
 */
export const listParameters = (entries: readonly (readonly [name: string, value: string])[]): ParameterList =>
  parseParameters(new URLSearchParams(entries.map(([name, value]): [string, string] => [name, value])).toString())

/** Returns the parameters when none is repeated, except those in `except` (RFC 6749 §3.2). Throws `invalid_request`. */
export const checkNoneRepeated = (
  parameters: ParameterList,
  ...except: readonly string[]
): ReadonlyMap<string, string> => {
  for (const name of parameters.repeated)
    if (!except.includes(name)) throw new OAuthError('invalid_request', 'A parameter was sent more than once.')
  return parameters.values
}
