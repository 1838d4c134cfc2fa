import { readFile } from 'node:fs/promises'
import { describeReadFault } from './problems.js'

/** The text of a file, or the reason there is none. */
export type TextReading =
  { readonly text: string; readonly fault?: never } | { readonly text?: never; readonly fault: string }

const startsWith = (bytes: Uint8Array, ...begin: readonly number[]): boolean =>
  begin.every((byte, index) => bytes[index] === byte)

/**
 * Detects the encoding from the first bytes: a byte order mark, or the position of NULs in an ASCII character (YAML
 * 1.2.2 §5.2).
 */
const encodingOf = (bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | 'utf-32' => {
  if (startsWith(bytes, 0xff, 0xfe, 0, 0) || startsWith(bytes, 0, 0, 0xfe, 0xff)) return 'utf-32'
  const [first, second, third, fourth] = bytes
  if (startsWith(bytes, 0xff, 0xfe)) return 'utf-16le'
  if (startsWith(bytes, 0xfe, 0xff)) return 'utf-16be'
  if (first === 0 && second === 0) return 'utf-32'
  if (first === 0) return 'utf-16be'
  if (second === 0) return third === 0 && fourth === 0 ? 'utf-32' : 'utf-16le'
  return 'utf-8'
}

/** Reads a text file in UTF-8 or UTF-16, without its byte order mark. Never throws. */
export const readText = async (path: string): Promise<TextReading> => {
  let bytes: Uint8Array
  try {
    bytes = await readFile(path)
  } catch (error) {
    return { fault: describeReadFault(error) }
  }
  const encoding = encodingOf(bytes)
  if (encoding === 'utf-32') return { fault: 'is in UTF-32: save it in UTF-8' }
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes) }
  } catch {
    return { fault: `is not proper ${encoding === 'utf-8' ? 'UTF-8' : 'UTF-16'}: save it in UTF-8` }
  }
}
