export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
/** What a JWT claims set or a metadata document is: a JSON object (RFC 8259 §4). */
export interface JsonObject {
  readonly [name: string]: JsonValue | undefined
}
