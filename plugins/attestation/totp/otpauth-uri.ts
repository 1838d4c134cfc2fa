import type { Principal } from '../../../core/api/index.js'
import { stepSeconds, type TotpForm } from './one-time-password.js'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 §6, without padding, as authenticator apps read it. */
export const toBase32 = (bytes: Uint8Array): string => {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet.charAt(parseInt(five.padEnd(5, '0'), 2))).join('')
}

/** What an authenticator app scans. A colon parts issuer and account, so neither has one of its own. */
export const otpauthUri = (issuer: string, principal: Principal, secret: string, form: TotpForm): string => {
  const name = new URL(issuer).hostname.replaceAll(':', '.')
  const account = `${principal.subject} ${principal.principalId}`.replaceAll(':', '.')
  const parameters = Object.entries({ secret, issuer: name, ...form, period: stepSeconds })
  const query = parameters.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&')
  return `otpauth://totp/${encodeURIComponent(name)}:${encodeURIComponent(account)}?${query}`
}
