/** The answer of a deployer's module to a question of yes or no. Throws `Error` for anything else: that is a bug, and never a yes. */
export const yesOrNo = (what: string, answer: unknown): boolean => {
  if (typeof answer !== 'boolean') throw new Error(`${what} answered neither true nor false`)
  return answer
}
