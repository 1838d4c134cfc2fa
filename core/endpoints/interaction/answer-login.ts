import { firstMethods, isInstead } from '../../interaction/method-choice.js'
import type { SignInMethod } from '../../interaction/sign-in-method.js'
import { OAuthError } from '../../oauth/errors.js'
import type { Flow } from '../authorization-flow/flow.js'
import { redirect, type Reply } from '../message.js'
import type { LoginContext } from './ask-login.js'
import { stepUrl } from './login-address.js'
import type { OwnInteraction } from './open-interaction.js'
import { MethodFailed } from './run-method.js'
import type { ShowLogin, ShowLoginOptions } from './show-login.js'
import type { SignInParts } from './sign-in-parts.js'

const notAnswers: ReadonlySet<string> = new Set(['csrf', 'client', 'decision', 'method', 'attempt', 'instead_of'])

interface LoginReplies {
  readonly show: ShowLogin
  readonly begin: (context: LoginContext, method: SignInMethod) => Promise<Reply>
}

/** Handles a form of the login page whose CSRF token was checked. */
export const createAnswerLogin = (
  { methods }: Pick<ShowLoginOptions, 'methods'>,
  flow: Flow,
  { attempts, run, complete }: SignInParts,
  { show, begin }: LoginReplies,
) => {
  /** A form that names no method is for the first method that has a form. */
  const methodOf = (own: OwnInteraction): SignInMethod => {
    const id = own.http.form.values.get('method')
    const method = id === undefined ? firstMethods(methods).find(({ kind }) => kind === 'form') : methods.get(id)
    if (method === undefined) throw new OAuthError('invalid_request', 'There is no such way to sign in.')
    return method
  }

  /** Starts another second factor than the pending one, which is left as it is. */
  const beginInstead = async ({ visit, page: about }: LoginContext, method: SignInMethod): Promise<Reply> => {
    const { http, interactionId, browserCookie } = visit.own
    const id = http.form.values.get('attempt') ?? ''
    const waiting = await attempts.find(id, browserCookie)
    const asked = methods.get(waiting?.method ?? '')
    const { passed, begun = 0, prompt } = waiting?.interactionId === interactionId ? waiting : {}
    if (asked === undefined || passed === undefined || prompt === undefined || !isInstead(method, passed))
      return show(visit, about, { isLate: true })
    try {
      const other = await run.begin(visit, method, begun, passed)
      if (other.prompt.kind !== 'none')
        return redirect(stepUrl(flow.interactions, visit.own, { outcome: 'next', begun: other }))
    } catch (error) {
      if (!(error instanceof MethodFailed)) throw error
      return show(visit, about, { failed: { method, problem: 'unavailable' } })
    }
    return show(visit, about, { second: { method: asked, begun: { id, prompt }, passed }, notSetUp: method })
  }

  return async (context: LoginContext): Promise<Reply> => {
    const { visit, page: about } = context
    const { own } = visit
    const { values } = own.http.form
    const method = methodOf(own)
    if (values.has('instead_of')) return beginInstead(context, method)
    if (values.has('begin') && firstMethods(methods).includes(method)) return begin(context, method)
    const id = values.get('attempt')
    const { interactionId, browserCookie } = own
    const redeemed =
      id === undefined ? undefined : await attempts.redeem(id, { browserCookie, method: method.id, interactionId })
    const isFirstForm = id === undefined && method.kind === 'form' && firstMethods(methods).includes(method)
    if (redeemed?.outcome !== 'won' && !isFirstForm) return show(visit, about, { failed: { method, problem: 'late' } })
    const answer = Object.fromEntries([...values].filter(([name]) => !notAnswers.has(name)))
    const attempt = redeemed?.outcome === 'won' && id !== undefined ? { ...redeemed.attempt, id } : undefined
    const step = await complete(visit, { method, answer, ...(attempt && { attempt }) })
    // Redirects instead of answering, because a reload or second click must not send the password again.
    if (step.outcome !== 'problem')
      return redirect(stepUrl(flow.interactions, own, step), step.outcome === 'signed-in' ? step.cookies : [])
    return show(visit, about, { front: method.id, failed: step, username: answer['username'] })
  }
}
