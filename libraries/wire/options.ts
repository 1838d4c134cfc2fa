/** What a member of options may be. */
export const kinds = {
  text: (value: unknown) => typeof value === 'string',
  number: (value: unknown) => typeof value === 'number' && !Number.isNaN(value),
  truth: (value: unknown) => typeof value === 'boolean',
  call: (value: unknown) => typeof value === 'function',
  list: (value: unknown) => Array.isArray(value),
  object: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  any: () => true,
} as const

export type Members = Readonly<Record<string, (value: unknown) => boolean>>

/**
 * Throws a `TypeError` for members that nobody reads, and for those of another type: a misspelled requirement would protect
 * nothing, and TypeScript does not see what JavaScript calls with. Absent and undefined are the same.
 */
export const checkMembers = (what: string, given: unknown, members: Members): void => {
  if (!kinds.object(given)) throw new TypeError(`${what} is not an object`)
  for (const [name, value] of Object.entries(given as object)) {
    const isRight = Object.hasOwn(members, name) ? members[name] : undefined
    if (isRight === undefined) throw new TypeError(`${what} has a member that is unknown: ${name}`)
    if (value !== undefined && !isRight(value)) throw new TypeError(`${what}.${name} has the wrong type`)
  }
}
