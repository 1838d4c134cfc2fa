import { randomInt } from 'node:crypto'
import type { Grant } from './grant.js'

/** RFC 8628 §3.4. */
export const deviceCodeGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** What a device asks for; its approval is a `Grant`. */
export interface DeviceRequest {
  readonly clientId: string
  readonly scope: readonly string[]
  /** As of the grant that it asks for. */
  readonly offline?: true
  /** The resources that were asked for (RFC 8707). */
  readonly resource: readonly string[]
  /** The device's, as it was seen when it asked: for the person to compare. */
  readonly address: string
  /** Seconds since the epoch. */
  readonly askedAt: number
}

/** What a device has been allowed: the grant that its tokens come from. */
export type DeviceApproval = Grant

/** No vowels, so that no word comes out, and nothing that looks like something else (RFC 8628 §6.1). */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8

/** Eight letters, 34.5 bits: enough where guesses are counted (RFC 8628 §5.1). */
export const newUserCode = (): string => {
  let code = ''
  while (code.length < length) code += alphabet[randomInt(alphabet.length)] ?? ''
  return code
}

/** As people see it: `BCDF-GHJK`. */
export const formatUserCode = (userCode: string): string => `${userCode.slice(0, 4)}-${userCode.slice(4)}`

/** What a person typed, in any spelling, as it is stored; undefined when it can be no user code (RFC 8628 §6.1). */
export const readUserCode = (typed: string | undefined): string | undefined => {
  if (typed === undefined || typed.length > 64) return undefined
  const code = typed.replaceAll(/[^BCDFGHJKLMNPQRSTVWXZ]/gi, '').toUpperCase()
  return code.length === length ? code : undefined
}
