import type { FoundPerson } from '../administration/accounts.js'
import { isSubject } from '../administration/account-changes.js'
import { Problem } from '../admin-api/problem.js'
import type { Translator } from '../interaction/languages/translator.js'
import type { Cell } from './cells.js'
import type { ConsoleCall } from './console-page.js'

/** A claim that is a text. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** The name by which the console calls a person. */
export const nameOf = ({ claims, username, sub }: FoundPerson): string => textOf(claims['name']) ?? username ?? sub

export const stateOf = (texts: Translator, { disabled }: FoundPerson) =>
  disabled === true
    ? { text: texts.text('common.disabled'), tone: 'bad' as const }
    : { text: texts.text('common.active'), tone: 'good' as const }

/** The subject in the path. Throws `Problem` for a text that no person can have as subject. */
export const subOf = ({ path }: Pick<ConsoleCall<never>, 'path'>): string => {
  const sub = path('sub')
  if (!isSubject(sub)) throw new Problem(404, 'unknown', 'There is no such object.')
  return sub
}

export const sourceOf = (texts: Translator, { source = 'external', method }: FoundPerson): Cell => ({
  text: texts.text(`people.from.${source}`),
  small: method,
})
