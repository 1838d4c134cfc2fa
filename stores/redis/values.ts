import { randomBytes } from 'node:crypto'

/**
 * Milliseconds that Redis keeps a value beyond its expiry. Our clocks decide whether something has expired; Redis
 * only collects, and may run slightly fast.
 */
const slack = 10_000

/** A name for one call, which identifies its own effect when a command arrives twice. */
export const newToken = (): string => randomBytes(9).toString('base64url')

/** When a value stored now expires; 0 means never. */
export const expiryAfter = (now: number, ttlSeconds: number | undefined): number =>
  ttlSeconds === undefined ? 0 : Math.max(1, Math.ceil(now + ttlSeconds * 1000))

/** The argument of `PX`; 0 means for ever. */
export const keepingTime = (ttlSeconds: number | undefined): number =>
  ttlSeconds === undefined ? 0 : Math.ceil(Math.max(0, ttlSeconds) * 1000) + slack

export interface Stored {
  /** Milliseconds since the epoch; 0 means never. */
  readonly expires: number
  readonly epoch: string
  readonly redeemed: boolean
  readonly record: unknown
}

/** Encodes a record that was not redeemed. */
export const encodeRecord = (record: unknown, expires: number, epoch: string): string =>
  `${String(expires)}.${epoch}.u${newToken()}.${JSON.stringify(record)}`

/** Undefined for an expired value, and for one that is not a record. */
export const decodeRecord = (text: unknown, now: number): Stored | undefined => {
  const [, expires = '', epoch = '', state = '', record = ''] =
    /^(\d+)\.([\w-]+)\.([ur][\w-]*)\.(.*)$/s.exec(typeof text === 'string' ? text : '') ?? []
  if (expires === '' || (expires !== '0' && Number(expires) <= now)) return undefined
  return { expires: Number(expires), epoch, redeemed: state.startsWith('r'), record: JSON.parse(record) as unknown }
}
