import { randomBytes } from 'node:crypto'

/**
 * Milliseconds that Redis keeps a value beyond its time. Whether something has expired is for our clocks to say; Redis only
 * collects, and may be a little fast.
 */
const slack = 10_000

/** A name for one call: it tells its own work from another's when a command arrives twice. */
export const newToken = (): string => randomBytes(9).toString('base64url')

/** When what is stored now expires; 0: never. */
export const expiryAfter = (now: number, ttlSeconds: number | undefined): number =>
  ttlSeconds === undefined ? 0 : Math.max(1, Math.ceil(now + ttlSeconds * 1000))

/** For `PX`; 0: for ever. */
export const keepingTime = (ttlSeconds: number | undefined): number =>
  ttlSeconds === undefined ? 0 : Math.ceil(Math.max(0, ttlSeconds) * 1000) + slack

export interface Stored {
  /** Milliseconds since the epoch; 0: never. */
  readonly expires: number
  readonly epoch: string
  readonly redeemed: boolean
  readonly record: unknown
}

/** A record that nobody has redeemed. */
export const encodeRecord = (record: unknown, expires: number, epoch: string): string =>
  `${String(expires)}.${epoch}.u${newToken()}.${JSON.stringify(record)}`

/** Undefined for what has expired, or is no record. */
export const decodeRecord = (text: unknown, now: number): Stored | undefined => {
  const [, expires = '', epoch = '', state = '', record = ''] =
    /^(\d+)\.([\w-]+)\.([ur][\w-]*)\.(.*)$/s.exec(typeof text === 'string' ? text : '') ?? []
  if (expires === '' || (expires !== '0' && Number(expires) <= now)) return undefined
  return { expires: Number(expires), epoch, redeemed: state.startsWith('r'), record: JSON.parse(record) as unknown }
}
