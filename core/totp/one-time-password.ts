import { createHmac, timingSafeEqual } from 'node:crypto'

/** By the names that otpauth URIs have for them; the secret has the length of the hash (RFC 2104 §3). */
export const totpAlgorithms = {
  SHA1: { digest: 'sha1', secretBytes: 20 },
  SHA256: { digest: 'sha256', secretBytes: 32 },
  SHA512: { digest: 'sha512', secretBytes: 64 },
} as const

export type TotpAlgorithm = keyof typeof totpAlgorithms
export const stepSeconds = 30

export interface TotpForm {
  readonly algorithm: TotpAlgorithm
  readonly digits: 6 | 8
}

/** The password of one step (RFC 6238 §4.2, RFC 4226 §5.3). */
export const oneTimePassword = (secret: Uint8Array, step: number, { algorithm, digits }: TotpForm): string => {
  const counter = Buffer.alloc(8)
  counter.writeBigInt64BE(BigInt(step))
  const mac = createHmac(totpAlgorithms[algorithm].digest, secret).update(counter).digest()
  const offset = mac.readUInt8(mac.length - 1) & 0xf
  const number = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits
  return String(number).padStart(digits, '0')
}

/**
 * The step within `window` steps around `now` (seconds) that a password belongs to. Every step is computed and compared
 * whole, whichever matches.
 */
export const findStep = (
  secret: Uint8Array,
  written: string,
  now: number,
  window: number,
  form: TotpForm,
): number | undefined => {
  const current = Math.floor(now / stepSeconds)
  const given = Buffer.from(written)
  const steps = Array.from({ length: 2 * window + 1 }, (_, index) => current - window + index)
  const matching = steps.filter((step) => {
    const expected = Buffer.from(oneTimePassword(secret, step, form))
    return expected.length === given.length && timingSafeEqual(expected, given)
  })
  return matching[0]
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 §6, without padding, as authenticator apps read it. */
export const toBase32 = (bytes: Uint8Array): string => {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet.charAt(parseInt(five.padEnd(5, '0'), 2))).join('')
}

/** Reads base32 with or without padding and blanks, in either case. Undefined: it is none. */
export const fromBase32 = (text: string): Uint8Array | undefined => {
  const digits = text.replaceAll(/[\s-]/g, '').replace(/=+$/, '').toUpperCase()
  if (!/^[A-Z2-7]+$/.test(digits)) return undefined
  const bits = Array.from(digits, (digit) => alphabet.indexOf(digit).toString(2).padStart(5, '0')).join('')
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => parseInt(byte, 2))
}

/** What an authenticator app scans. A colon parts issuer and account, so neither has one of its own. */
export const otpauthUri = (issuer: string, account: string, secret: string, form: TotpForm): string => {
  const name = new URL(issuer).hostname.replaceAll(':', '.')
  const parameters = Object.entries({ secret, issuer: name, ...form, period: stepSeconds })
  const query = parameters.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&')
  return `otpauth://totp/${encodeURIComponent(name)}:${encodeURIComponent(account.replaceAll(':', '.'))}?${query}`
}
