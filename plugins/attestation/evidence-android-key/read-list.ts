import { isObject } from '../../../core/api/index.js'

/** Serial numbers in lower-case hexadecimal, without leading zeros. */
export type RevokedSerials = ReadonlySet<string>

/**
 * Reads the list in Google's form, `{"entries":{"<serial>":{"status":"REVOKED"}}}`. Any listed certificate is not
 * trusted, whatever its status. Undefined for anything else.
 */
export const readList = (text: string): RevokedSerials | undefined => {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(list) || !isObject(list['entries'])) return undefined
  const serials = Object.keys(list['entries']).map(normalizeSerial)
  return serials.every((serial) => /^[\da-f]+$/.test(serial)) ? new Set(serials) : undefined
}

export const normalizeSerial = (serial: string): string => serial.toLowerCase().replace(/^0+(?=.)/, '')

export const findListFault = (text: string): string | undefined =>
  readList(text) === undefined
    ? 'must be a list of revoked certificates: {"entries": {"<serial number>": …}}'
    : undefined
