/** Written into every document. A later version reads all earlier ones; what it adds, this one keeps. */
export const schema = 1

/** What every collection has in common. Records are kept as JSON text: their names need not be names of BSON. */
export interface StoredDocument {
  /** As `storedText` or `compositeId` makes it. */
  readonly _id: string
  readonly v: number
  /** When it is over; absent: never. The TTL index collects by it. */
  readonly expireAt?: Date
}

/** Part of a query; only this folder's constants are names in it. */
export type Condition = Readonly<Record<string, unknown>>

/** Of what expires in its time, what has not. */
export const isUnexpired = (now: number): Condition => ({ expireAt: { $gt: new Date(now) } })

/** As `isUnexpired`, where there is also what never expires. */
export const isUnexpiredOrLasting = (now: number): Condition => ({ expireAt: { $not: { $lte: new Date(now) } } })

/** Only what this version understands is changed. */
export const isUnderstood: Condition = { v: { $lte: schema } }

export const after = (now: number, seconds: number): Date => new Date(now + seconds * 1000)
