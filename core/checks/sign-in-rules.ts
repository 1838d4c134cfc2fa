import { meant, type Rule } from './rule.js'

/** A method after one that there is not would never be asked. */
const order: Rule = ({ registries: { signIn }, report, isWhole }) => {
  if (!isWhole('plugins')) return
  for (const { id, after = [] } of signIn.values())
    for (const other of after)
      if (!signIn.has(other))
        report(
          ['plugins'],
          `the sign-in method ${id} comes after ${other}, which no plugin provides${meant(other, signIn.keys())}`,
        )
}

export const signInRules: readonly Rule[] = [order]
