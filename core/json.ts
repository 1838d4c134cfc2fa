export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
/** What a JWT claims set or a metadata document is: a JSON object (RFC 8259 §4). */
export interface JsonObject {
  readonly [name: string]: JsonValue | undefined
}

/** The same value, which nobody can change for the next who is given it. */
export const frozen = <T extends JsonValue | undefined>(value: T): T => {
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) frozen(child as JsonValue)
  return Object.freeze(value)
}
