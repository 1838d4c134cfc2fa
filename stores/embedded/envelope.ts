/** Written into every record. A later version reads all earlier ones. */
export const schema = 1

/** A stored record. Fields that this version does not know are kept when the record changes. */
export interface Envelope {
  readonly schema: number
  /** Milliseconds since the epoch. Absent means never. */
  readonly expires?: number
  readonly redeemed?: boolean
  /** Set for a claim. The store remembers when it has collected one. */
  readonly claim?: true
  /** Milliseconds for which it is kept although expired, so that a clock that is ahead by less removes nothing. */
  readonly spared?: number
  readonly record: unknown
}

export const envelope = (record: unknown, expires?: number): Envelope => ({
  schema,
  ...(expires === undefined ? {} : { expires }),
  record,
})

// JSON rather than MessagePack: it is as fast for records of this size, and `__proto__` stays an ordinary name.
export const encodeEnvelope = (value: Envelope): string => JSON.stringify(value)

/** Throws for bytes that are not an envelope, and for a later version that may have another meaning. */
export const decodeEnvelope = (text: string): Envelope => {
  const value = JSON.parse(text) as Envelope
  if (!(value.schema <= schema)) throw new Error('The record was written by a later version')
  return value
}

/** When it may be collected, or undefined if never. */
export const collectableAt = ({ expires, spared = 0 }: Envelope): number | undefined =>
  expires === undefined ? undefined : expires + spared

export const isLive = ({ expires }: Envelope, now: number): boolean => expires === undefined || now < expires
