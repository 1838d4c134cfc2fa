import { randomInt } from 'node:crypto'
import type { Grant } from './grant.js'

/** The grant type of RFC 8628 §3.4. */
export const deviceCodeGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** The request of a device; its approval is a `Grant`. */
export interface DeviceRequest {
  readonly clientId: string
  readonly scope: readonly string[]
  /** The value for the grant that it asks for. */
  readonly offline?: true
  /** The requested resources (RFC 8707). */
  readonly resource: readonly string[]
  /** The device's address when it asked, for the person to compare. */
  readonly address: string
  /** Seconds since the epoch. */
  readonly askedAt: number
}

/** The approval of a device: the grant that its tokens come from. */
export type DeviceApproval = Grant

/** The alphabet has no vowels, so that no words appear, and no characters that look alike (RFC 8628 §6.1). */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8

/** Eight letters have 34.5 bits, which is enough where guesses are counted (RFC 8628 §5.1). */
export const newUserCode = (): string => {
  let code = ''
  while (code.length < length) code += alphabet[randomInt(alphabet.length)] ?? ''
  return code
}

/** Formats a user code for people: `BCDF-GHJK`. */
export const formatUserCode = (userCode: string): string => `${userCode.slice(0, 4)}-${userCode.slice(4)}`

/**
 * Converts what a person typed, in any spelling, to the stored form; returns undefined when it cannot be a user code
 * (RFC 8628 §6.1).
 */
export const readUserCode = (typed: string | undefined): string | undefined => {
  if (typed === undefined || typed.length > 64) return undefined
  const code = typed.replaceAll(/[^BCDFGHJKLMNPQRSTVWXZ]/gi, '').toUpperCase()
  return code.length === length ? code : undefined
}
