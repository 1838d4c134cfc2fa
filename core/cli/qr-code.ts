import type { WriteStream } from 'node:tty'
import { encodeQR } from 'qr'

/** The width of the white margin in modules (ISO/IEC 18004 §6.3.8). */
const quietZone = 4
const blackOnWhite = '\u001b[30;107m'
const reset = '\u001b[0m'

/**
 * Draws the text as a QR code, with two modules per character. Returns undefined when the terminal has no colours or
 * is too narrow.
 */
export const drawQrCode = (
  text: string,
  terminal: Pick<WriteStream, 'isTTY' | 'columns' | 'hasColors'>,
): string | undefined => {
  if (!terminal.isTTY || !terminal.hasColors()) return undefined
  const modules = encodeQR(text, 'raw', { ecc: 'low', border: quietZone })
  if (modules.length > terminal.columns) return undefined
  const lines = modules.flatMap((upper, row) => {
    if (row % 2 === 1) return []
    const lower = modules[row + 1]
    const characters = upper.map((dark, column) => (lower?.[column] ? (dark ? '█' : '▄') : dark ? '▀' : ' '))
    return [`${blackOnWhite}${characters.join('')}${reset}`]
  })
  return lines.join('\n')
}
