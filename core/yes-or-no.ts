/**
 * Checks the boolean answer of a deployer's module. Throws `Error` for anything else, which is a bug and never counts
 * as yes.
 */
export const yesOrNo = (what: string, answer: unknown): boolean => {
  if (typeof answer !== 'boolean') throw new Error(`${what} answered neither true nor false`)
  return answer
}
