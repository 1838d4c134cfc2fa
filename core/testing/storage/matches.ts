import { deepEqual } from 'node:assert/strict'

const pick = (actual: unknown, expected: unknown): unknown =>
  typeof actual === 'object' && actual !== null && typeof expected === 'object' && expected !== null
    ? Object.fromEntries(
        Object.entries(expected).map(([name, value]) => [name, pick((actual as Record<string, unknown>)[name], value)]),
      )
    : actual

/** Passes when `actual` has all members of `expected`; others do not matter. */
export const matches = (actual: unknown, expected: unknown): void => {
  deepEqual(pick(actual, expected), pick(expected, expected))
}
