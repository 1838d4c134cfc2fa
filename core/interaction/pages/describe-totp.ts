import { encodeQR } from 'qr'
import type { Translator } from '../languages/translator.js'
import type { TotpOnPage } from './account-page.js'

/** The width of the white margin in modules (ISO/IEC 18004 §6.3.8). */
const quietZone = 4

/** Draws a QR code as an SVG path, so that a page needs neither a style nor an external picture for it. */
const drawPath = (text: string) => {
  const modules = encodeQR(text, 'raw', { ecc: 'medium', border: quietZone })
  const dark = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return { size: modules.length, path: dark.join('') }
}

/** Returns the app in the form that views use. `time` returns what an element `time` needs. */
export const describeTotp = <Time>(
  translator: Translator,
  { app, setup, codes, problem }: TotpOnPage,
  time: (seconds: number) => Time,
) => ({
  app: app && {
    time: time(app.since),
    used: app.lastUsedAt === undefined ? undefined : time(app.lastUsedAt),
    left: translator.count('totp.left', app.left),
  },
  // Groups of four are easier to type.
  setup: setup && { ...setup, secret: setup.secret.replaceAll(/(.{4})(?=.)/g, '$1 '), qr: drawPath(setup.uri) },
  codes,
  problem: problem && translator.text('totp.wrong'),
})
