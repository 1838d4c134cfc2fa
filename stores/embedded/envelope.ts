/** Written into every record. A later version reads all earlier ones. */
export const schema = 1

/** A record as it is stored. Fields that this version does not know stay as they are when the record changes. */
export interface Envelope {
  readonly schema: number
  /** Milliseconds since the epoch; absent: for ever. */
  readonly expires?: number
  readonly redeemed?: boolean
  /** What was claimed: when it is collected, the store remembers that. */
  readonly claim?: true
  /** Milliseconds for which it is not collected although it has expired: a clock that is ahead by less takes nothing away. */
  readonly spared?: number
  readonly record: unknown
}

export const envelope = (record: unknown, expires?: number): Envelope => ({
  schema,
  ...(expires === undefined ? {} : { expires }),
  record,
})

// JSON and not MessagePack: it is as fast for records of this size, and `__proto__` stays an ordinary name.
export const encodeEnvelope = (value: Envelope): string => JSON.stringify(value)

/** Throws when the bytes are not an envelope, or one of a later version that may mean something else. */
export const decodeEnvelope = (text: string): Envelope => {
  const value = JSON.parse(text) as Envelope
  if (!(value.schema <= schema)) throw new Error('The record was written by a later version')
  return value
}

/** When it may be collected; undefined: never. */
export const collectableAt = ({ expires, spared = 0 }: Envelope): number | undefined =>
  expires === undefined ? undefined : expires + spared

export const isLive = ({ expires }: Envelope, now: number): boolean => expires === undefined || now < expires
