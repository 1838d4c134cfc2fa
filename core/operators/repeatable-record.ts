/**
 * A request with an `Idempotency-Key`. Its answer may have a secret, so it is stored encrypted with a key that is
 * derived from the idempotency key, which is not stored.
 */
export interface RepeatableRecord {
  /** The digest of the request. */
  readonly request: string
  /** Absent while the first request is under way. */
  readonly answer?: string
}
