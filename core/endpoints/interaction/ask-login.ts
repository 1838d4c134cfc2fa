import { firstMethods } from '../../interaction/method-choice.js'
import type { LoginPage } from '../../interaction/pages/login-page.js'
import type { SignInMethod } from '../../interaction/sign-in-method.js'
import type { Flow } from '../authorization-flow/flow.js'
import { withQuery } from '../authorization-flow/with-query.js'
import { redirect, type Reply } from '../message.js'
import type { CompleteContext } from './start-sign-in.js'
import { readLoginAddress } from './login-address.js'
import type { OwnInteraction } from './open-interaction.js'
import { MethodFailed } from './run-method.js'
import type { ShowLogin, ShowLoginOptions } from './show-login.js'
import type { SignInParts } from './sign-in-parts.js'

/** What a login page is shown for. */
export interface LoginContext {
  readonly visit: CompleteContext
  readonly page: Partial<LoginPage>
}

/** Asks a person to sign in, on the page or elsewhere. */
export const createAskLogin = (
  { methods, clock }: Pick<ShowLoginOptions, 'methods' | 'clock'>,
  flow: Flow,
  { attempts, run }: Pick<SignInParts, 'attempts' | 'run'>,
  show: ShowLogin,
) => {
  /**
   * Someone has signed in at this interaction who is not the person the client wants; asking elsewhere again would
   * give the same result.
   */
  const hasSignedIn = async ({ http, interactionId }: OwnInteraction): Promise<boolean> =>
    (await flow.everybody(http)).some(({ session }) => session.interactionId === interactionId)

  /** The person pressed the button of a method that is elsewhere or not in front. */
  const begin = async ({ visit, page: about }: LoginContext, method: SignInMethod): Promise<Reply> => {
    const address = flow.interactions.pageUrl(visit.own.interactionId, 'login')
    if (method.kind !== 'redirect') return redirect(withQuery(address, { method: method.id }))
    try {
      const { prompt } = await run.begin(visit, method, clock())
      if (prompt.kind === 'redirect') return redirect(prompt.url)
    } catch (error) {
      if (!(error instanceof MethodFailed)) throw error
    }
    return show(visit, about, { front: undefined, failed: { method, problem: 'unavailable' } })
  }

  /** The page in the state that its address describes, for a person who is to sign in. */
  const ask = async (context: LoginContext, username: string | undefined): Promise<Reply> => {
    const { visit, page: about } = context
    const { http, interactionId, browserCookie } = visit.own
    const { method: front, problem, attempt: id } = readLoginAddress(http)
    const failed = methods.get(front ?? '')
    const shown = { front, username, ...(problem && failed && { failed: { method: failed, problem } }) }
    if (id !== undefined) {
      const waiting = await attempts.find(id, browserCookie)
      const method = methods.get(waiting?.method ?? '')
      if (waiting?.interactionId === interactionId && waiting.passed !== undefined && method !== undefined)
        return show(visit, about, { second: { method, begun: { id, prompt: waiting.prompt }, passed: waiting.passed } })
      return show(visit, about, { ...shown, isLate: true })
    }
    const [only, another] = firstMethods(methods)
    const goesAtOnce = only?.kind === 'redirect' && another === undefined && problem === undefined
    return goesAtOnce && !(await hasSignedIn(visit.own)) ? begin(context, only) : show(visit, about, shown)
  }

  return { ask, begin }
}
