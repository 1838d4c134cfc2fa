/** Written into every document. A later version reads all earlier ones, and this one keeps what a later one adds. */
export const schema = 1

/** What all collections share. Records are JSON text, because their member names need not be valid in BSON. */
export interface StoredDocument {
  /** From `storedText` or `compositeId`. */
  readonly _id: string
  readonly v: number
  /** When it expires; absent means never. The TTL index collects by it. */
  readonly expireAt?: Date
}

/** Part of a query. Only constants of this folder are names in it. */
export type Condition = Readonly<Record<string, unknown>>

/** Matches unexpired documents, where all expire. */
export const isUnexpired = (now: number): Condition => ({ expireAt: { $gt: new Date(now) } })

/** Like `isUnexpired`, where some documents never expire. */
export const isUnexpiredOrLasting = (now: number): Condition => ({ expireAt: { $not: { $lte: new Date(now) } } })

/** Only documents that this version understands are changed. */
export const isUnderstood: Condition = { v: { $lte: schema } }

export const after = (now: number, seconds: number): Date => new Date(now + seconds * 1000)
