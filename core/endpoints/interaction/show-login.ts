import { csrfToken } from '../../interaction/csrf.js'
import { firstMethods, isInstead } from '../../interaction/method-choice.js'
import type { PassedSoFar } from '../../interaction/sign-in-attempts.js'
import { logoOrigins } from '../../interaction/pages/client-on-page.js'
import { loginPage, type LoginPage, type MethodOnPage, type SignInProblem } from '../../interaction/pages/login-page.js'
import type { SignInMethod } from '../../interaction/sign-in-method.js'
import { OAuthError } from '../../oauth/errors.js'
import { Unavailable } from '../../unavailable.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { SignInMethods, CommonOptions } from '../authorization-flow/options.js'
import { displayName } from '../../oauth/subjects/account.js'
import { otherAccountUrl } from '../authorization-flow/other-account.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import { page, type Reply } from '../message.js'
import type { OwnInteraction } from './open-interaction.js'
import { MethodFailed, type StartedAttempt, type SignInContext } from './run-method.js'
import type { SignInParts } from './sign-in-parts.js'

/** What the page shows besides the methods. */
export interface ShownLogin {
  /** Id of the method to show in front, if possible. */
  readonly front?: string | undefined
  /** Set when only a second factor is asked. */
  readonly second?: { readonly method: SignInMethod; readonly begun: StartedAttempt; readonly passed: PassedSoFar }
  /** The method requested instead of `second`, which the person has not set up. */
  readonly notSetUp?: SignInMethod
  readonly failed?: {
    readonly method: SignInMethod
    readonly problem: SignInProblem
    readonly retryAfterSeconds?: number
    /** A second factor that may be retried. */
    readonly begun?: StartedAttempt
    readonly passed?: PassedSoFar
  }
  /** Whether the second factor that was to be asked has expired. */
  readonly isLate?: boolean
  readonly username?: string | undefined
}

/** Seconds before a method that is down should be retried. */
const retryAfterSeconds = 3

const statuses: Readonly<Record<SignInProblem, number>> = {
  ...{ wrong: 403, again: 403, late: 403 },
  ...{ locked: 429, unavailable: 503 },
}

export const loginCsrf = ({ browserCookie, interactionId }: OwnInteraction): string =>
  csrfToken(browserCookie, interactionId, 'login')

const onPage = ({ id, title, logo }: SignInMethod, begun?: StartedAttempt): MethodOnPage => ({
  id,
  ...(title && { title }),
  ...(logo !== undefined && { logo }),
  ...(begun === undefined ? { ask: { kind: 'button' } } : askFor(begun)),
})

const askFor = ({ id, prompt }: StartedAttempt): Pick<MethodOnPage, 'ask' | 'attempt'> => {
  if (prompt.kind === 'form') {
    const { fields, recoveryCodes } = prompt
    return {
      ask: fields === 'code' ? { kind: fields, ...(recoveryCodes && { recoveryCodes }) } : { kind: fields },
      attempt: id,
    }
  }
  if (prompt.kind === 'ceremony') return { ask: { kind: 'ceremony', options: prompt.options }, attempt: id }
  return { ask: { kind: 'button' } }
}

/** Second factors that could be asked instead. `run.begin` finds out whether the person has one. */
const offerInstead = (methods: ReadonlyMap<string, SignInMethod>, asked: SignInMethod, passed: PassedSoFar) =>
  [...methods.values()].filter((method) => method.id !== asked.id && isInstead(method, passed))

export type ShowLoginOptions = Pick<SignInMethods, 'methods' | 'accounts'> &
  Pick<CommonOptions, 'pages' | 'clock' | 'issuer'>

/** Builds the login page from the methods. One that fails shows that at its button, and the others work. */
export const createShowLogin = (
  { methods, accounts, pages, clock, issuer }: ShowLoginOptions,
  flow: Flow,
  { run }: Pick<SignInParts, 'run'>,
) => {
  const describe = async (
    visit: SignInContext,
    method: SignInMethod,
    isFront: boolean,
  ): Promise<readonly MethodOnPage[]> => {
    // A method elsewhere starts with a click, and a form that is not in front has its own address.
    if (method.kind === 'redirect' || (method.kind === 'form' && !isFront)) return [onPage(method)]
    if (method.form !== undefined) return [{ ...onPage(method), ask: { kind: method.form } }]
    try {
      const begun = await run.begin(visit, method, clock())
      if (begun.prompt.kind === 'none') return []
      const { attempt, ...shown } = onPage(method, begun)
      return [{ ...shown, ...(method.kind !== 'form' && { attempt }) }]
    } catch (error) {
      if (error instanceof MethodFailed || error instanceof OAuthError || error instanceof Unavailable)
        return [{ ...onPage(method), problem: 'unavailable' }]
      throw error
    }
  }

  const describeAll = async (
    visit: SignInContext,
    { front, second, failed }: ShownLogin,
  ): Promise<readonly MethodOnPage[]> => {
    if (second !== undefined) return [onPage(second.method, second.begun)]
    if (failed?.begun !== undefined) return [onPage(failed.method, failed.begun)]
    const first = firstMethods(methods, [front, visit.own.http.cookie(flow.cookies.method)])
    const all = await Promise.all(first.map((method, index) => describe(visit, method, index === 0)))
    return all.flat()
  }

  /**
   * Identifies the person whose second factor is asked by what they have typed, so that the page reveals nothing new.
   */
  const describeSecond = async (visit: SignInContext, method: SignInMethod, passed: PassedSoFar) => {
    const { http, interactionId } = visit.own
    const { subject, username } = passed.result
    const known = passed.typed ?? username
    const account = known === undefined ? await accounts.find(subject, http.signal) : undefined
    return {
      account: {
        name: known ?? (account === undefined ? subject : displayName(account)),
        otherUrl: otherAccountUrl(flow.interactions.pageUrl(interactionId, 'login')),
      },
      instead: offerInstead(methods, method, passed),
    }
  }

  return async (visit: SignInContext, about: Partial<LoginPage>, shown: ShownLogin): Promise<Reply> => {
    const { own } = visit
    const { failed, isLate, username, notSetUp } = shown
    const asked = shown.second ?? (failed?.begun && failed)
    const found = await describeAll(visit, shown)
    const isShown = found.some(({ id }) => id === failed?.method.id)
    const listed = found.map((method, index): MethodOnPage => {
      if (failed !== undefined && (isShown ? method.id === failed.method.id : index === 0)) {
        const { problem, retryAfterSeconds: wait } = failed
        return { ...method, problem, ...(wait !== undefined && { retryAfterSeconds: wait }) }
      }
      return isLate === true && index === 0 ? { ...method, problem: 'late' } : method
    })
    const isDown = listed.every(({ problem }) => problem === 'unavailable')
    const problem = failed?.problem ?? (isLate === true ? 'late' : isDown ? 'unavailable' : undefined)
    const { uiLocales } = visit.asked
    const spoken = pagesFor(pages, own.http, uiLocales.length > 0 ? uiLocales.join(' ') : undefined)
    const html = spoken.show(loginPage, {
      action: flow.interactions.pageUrl(own.interactionId, 'login'),
      csrf: loginCsrf(own),
      ...about,
      ...(username !== undefined && { username }),
      methods: listed,
      isSecond: asked !== undefined,
      ...(asked?.passed && (await describeSecond(visit, asked.method, asked.passed))),
      ...(notSetUp && { notSetUp }),
      ...(about.client === undefined && { leaveUrl: `${issuer}/` }),
    })
    const reply = page(problem === undefined ? 200 : statuses[problem], html, spoken.language)
    const wait = failed?.retryAfterSeconds ?? (problem === 'unavailable' ? retryAfterSeconds : undefined)
    return {
      ...reply,
      ...(wait !== undefined && { headers: { ...reply.headers, 'Retry-After': String(wait) } }),
      images: logoOrigins([
        about.client,
        ...listed.map(({ logo }) => (logo === undefined ? undefined : { logoUri: logo })),
      ]),
    }
  }
}

export type ShowLogin = ReturnType<typeof createShowLogin>
