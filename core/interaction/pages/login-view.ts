import type { Words } from '../languages/words.js'
import { logoOrigin, webAddress } from './client-on-page.js'
import type { LoginPage, MethodOnPage, SignInProblem } from './pages.js'
import { tooManyText } from './wait-text.js'

const titleOf = (words: Words, { id, title }: Pick<MethodOnPage, 'id' | 'title'>): string => words.own(title) ?? id

const problemText = (words: Words, method: MethodOnPage, problem: SignInProblem): string => {
  switch (problem) {
    case 'wrong':
      if (method.ask.kind === 'password') return words.text('login.wrong')
      if (method.ask.kind === 'code') return words.text('login.wrong_code')
      return words.text('login.failed', { method: titleOf(words, method) })
    case 'again':
      return words.text('login.again')
    case 'late':
      return words.text('login.late')
    case 'locked':
      return tooManyText(words, method.retryAfterSeconds ?? 0)
    case 'unavailable':
      return words.text('login.unavailable', { method: titleOf(words, method) })
  }
}

/** The methods of the login page as its view has them: the one in front, and the others. */
export const describeMethods = (
  words: Words,
  { methods, isSecond, instead = [], notSetUp }: Pick<LoginPage, 'methods' | 'isSecond' | 'instead' | 'notSetUp'>,
) => {
  const missing = notSetUp && words.text('login.not_set_up', { method: titleOf(words, notSetUp) })
  const [front, ...others] = methods.map((method) => {
    const { id, logo, ask, attempt } = method
    const takesRecoveryCodes = ask.kind === 'code' && ask.recoveryCodes === true
    return {
      id,
      attempt,
      kind: ask.kind,
      title: titleOf(words, method),
      logo: logoOrigin(logo) && webAddress(logo),
      problem: method.problem ? problemText(words, method, method.problem) : missing,
      takesRecoveryCodes,
      describedBy: [
        ...(method.problem || missing ? ['problem'] : []),
        ...(takesRecoveryCodes ? ['code-recovery'] : []),
      ].join(' '),
      options: ask.kind === 'ceremony' ? JSON.stringify(ask.options) : undefined,
    }
  })
  // Where there is one alone, nobody has to say which.
  const isNamed = others.length > 0 || front?.kind !== 'password'
  const offered = instead.map((method) => ({ id: method.id, title: titleOf(words, method) }))
  return { front, others, isNamed, isSecond: isSecond === true, instead: offered }
}
