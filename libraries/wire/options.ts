/** What a member of options may be. */
export const kinds = {
  text: (value: unknown) => typeof value === 'string',
  name: (value: unknown) => typeof value === 'string' && value !== '',
  number: (value: unknown) => typeof value === 'number' && !Number.isNaN(value),
  amount: (value: unknown) => typeof value === 'number' && value >= 0,
  bytes: (value: unknown) => value instanceof Uint8Array,
  truth: (value: unknown) => typeof value === 'boolean',
  call: (value: unknown) => typeof value === 'function',
  list: (value: unknown) => Array.isArray(value),
  object: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  oneOf:
    (...values: readonly unknown[]) =>
    (value: unknown) =>
      values.includes(value),
  /** Also accepts an instance whose class has the methods. */
  withMethods:
    (...names: readonly string[]) =>
    (value: unknown) =>
      kinds.object(value) && names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function'),
} as const

export type Members = Readonly<Record<string, (value: unknown) => boolean>>

/**
 * Throws a `TypeError` for unknown members, members of a wrong type, and missing required ones: a misspelled
 * requirement would protect nothing, and TypeScript does not check callers in JavaScript. Absent and undefined are
 * the same.
 */
export const checkMembers = (
  what: string,
  given: unknown,
  members: Members,
  required: readonly string[] = [],
): void => {
  if (!kinds.object(given)) throw new TypeError(`${what} is not an object`)
  for (const [name, value] of Object.entries(given as object)) {
    const isRight = Object.hasOwn(members, name) ? members[name] : undefined
    if (isRight === undefined) throw new TypeError(`${what}.${name} is unknown`)
    if (value !== undefined && !isRight(value)) throw new TypeError(`${what}.${name} has the wrong type`)
  }
  for (const name of required)
    if ((given as Readonly<Record<string, unknown>>)[name] === undefined)
      throw new TypeError(`${what}.${name} is missing`)
}
