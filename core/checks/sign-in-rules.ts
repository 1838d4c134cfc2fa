import { meant, type Rule } from './rule.js'

/** A method that follows a missing one would never be tried. */
const order: Rule = ({ registries: { signIn }, report, isValid }) => {
  if (!isValid('plugins')) return
  for (const { id, after = [] } of signIn.values())
    for (const other of after)
      if (!signIn.has(other))
        report(
          ['plugins'],
          `the sign-in method ${id} comes after ${other}, which no plugin provides${meant(other, signIn.keys())}`,
        )
}

/** Only people who are signed in can be asked for consent. */
const consent: Rule = ({ registries, report, isValid }) => {
  if (isValid('plugins') && registries.consent !== undefined && registries.signIn.size === 0)
    report(['plugins'], 'a plugin asks for consent, and none signs anybody in: add one, such as plugins/login/password')
}

export const signInRules: readonly Rule[] = [order, consent]
