import { isCsrfToken } from '../../interaction/csrf.js'
import type { AccountVisit, InteractionPage } from '../../interaction/interaction.js'
import { firstMethods, isInstead } from '../../interaction/method-choice.js'
import type { LoginPage } from '../../interaction/pages/pages.js'
import type { SignInMethod } from '../../interaction/sign-in-method.js'
import { formatUserCode } from '../../oauth/grants/device-code.js'
import { OAuthError } from '../../oauth/errors.js'
import { accountUrl } from '../authorization-flow/account-url.js'
import { withQuery } from '../authorization-flow/with-query.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { AuthorizationOptions } from '../authorization-flow/options.js'
import { checkForm, clientOnPage, leadingBack, refuseForgery } from '../authorization-flow/page-form.js'
import type { Declaration } from '../endpoint.js'
import { keepChoice, wantsOtherAccount } from '../authorization-flow/other-account.js'
import { isHinted, type Person } from '../authorization-flow/people.js'
import { isRecent } from '../authorization-flow/recent-sign-in.js'
import { redirect, type EndpointRequest, type Handler, type Reply } from '../message.js'
import type { CompleteVisit } from './complete-sign-in.js'
import { readLoginAddress, stepUrl } from './login-address.js'
import {
  claimInteraction,
  findInteraction,
  getInteraction,
  openInteraction,
  sealClient,
  type OpenInteraction,
  type OwnInteraction,
} from './open-interaction.js'
import { MethodFailed } from './run-method.js'
import { createShowLogin, loginCsrf } from './show-login.js'
import type { SignInParts } from './sign-in-parts.js'
import { clientVisit, ownPageVisit } from './sign-in-visit.js'

/** What a login page is shown for. */
interface LoginContext {
  readonly visit: CompleteVisit
  readonly page: Partial<LoginPage>
}

/** GET and POST `/interaction/{id}/login`. Where to go next is the interaction's own; nothing in the form can say. */
export const loginPage = {
  path: '/interaction/{id}/login',
  methods: ['GET', 'POST'],
  body: 'page-form',
  errorTitle: 'Sign-in error',
  limit: { byAddress: 'interaction', byRefusals: false },
} as const satisfies Declaration

const notAnswers: ReadonlySet<string> = new Set(['csrf', 'client', 'decision', 'method', 'attempt', 'instead_of'])

export const createLoginPage = (options: AuthorizationOptions, flow: Flow, parts: SignInParts): Handler => {
  const { issuer, methods, clock } = options
  const { attempts, run, complete } = parts
  const show = createShowLogin(options, flow, parts)

  const checkSent = (own: OwnInteraction): void => {
    checkForm(own.http)
    if (!isCsrfToken(loginCsrf(own), own.http.form.values.get('csrf'))) refuseForgery()
  }

  /** A form that says no method is that of the first one that has a form. */
  const methodOf = (own: OwnInteraction): SignInMethod => {
    const id = own.http.form.values.get('method')
    const method = id === undefined ? firstMethods(methods).find(({ kind }) => kind === 'form') : methods.get(id)
    if (method === undefined) throw new OAuthError('invalid_request', 'There is no such way to sign in.')
    return method
  }

  /** Somebody has pressed the button of a method that is not in front, or is elsewhere. */
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

  /** Another second factor than the one that waits, which stays as it is. */
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

  const submit = async (context: LoginContext): Promise<Reply> => {
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
    // Got again rather than answered here: a reload, or a second click, must not send the password once more.
    if (step.outcome !== 'problem')
      return redirect(stepUrl(flow.interactions, own, step), step.outcome === 'signed-in' ? step.cookies : [])
    return show(visit, about, { front: method.id, failed: step, username: answer['username'] })
  }

  /** The page as its address says, for somebody who is to sign in. */
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

  /** Somebody has, at this very interaction, who is not whom the client wants: the place elsewhere would say the same again. */
  const hasSignedIn = async ({ http, interactionId }: OwnInteraction): Promise<boolean> =>
    (await flow.everybody(http)).some(({ session }) => session.interactionId === interactionId)

  /** An address that asks for a sign-in even if somebody is signed in already. */
  const isAsking = (http: EndpointRequest): boolean => {
    const { method, problem, attempt } = readLoginAddress(http)
    return wantsOtherAccount(http) || (method ?? problem ?? attempt) !== undefined
  }

  /** Who wants another account does not want the one that is signed in here already. */
  const hintOfAnother = async ({ http, request: { loginHint } }: OpenInteraction): Promise<string | undefined> => {
    if (loginHint === undefined) return undefined
    const everybody = await flow.everybody(http)
    return everybody.some((person) => isHinted(loginHint, person)) ? undefined : loginHint
  }

  /** Of the person who is to sign in again, unless the client has somebody else in mind and nobody was chosen. */
  const usernameOf = ({ http, request: { loginHint } }: OpenInteraction, person: Person | undefined) =>
    person === undefined ||
    (loginHint !== undefined && !isHinted(loginHint, person) && !http.query.values.has('account'))
      ? loginHint
      : (person.session.username ?? loginHint)

  const forClient = async (own: OwnInteraction, open: OpenInteraction): Promise<Reply> => {
    const { http, client, request, interactionId } = open
    const context: LoginContext = {
      visit: clientVisit(own, client, request),
      page: {
        client: clientOnPage(client, request.redirectUri),
        sealedClient: sealClient(open),
        cancel: true,
      },
    }
    if (http.method === 'POST') {
      checkSent(own)
      if (http.form.values.get('decision') === 'cancel')
        return flow.refuse(open, new OAuthError('access_denied', 'The user did not sign in.'))
      return submit(context)
    }
    if (isAsking(http)) return ask(context, await hintOfAnother(open))
    const to = (next: InteractionPage) => () =>
      redirect(keepChoice(http, flow.interactions.pageUrl(interactionId, next)))
    return flow.goOn(open, {
      select: to('select'),
      login: (person) => ask(context, usernameOf(open, person)),
      consent: to('consent'),
      code: (session) => flow.grant(open, session),
    })
  }

  /** For a page of ours at `url`, which is open to people who are signed in and `mayEnter`. */
  const forOwnPage = async (
    own: OwnInteraction,
    purpose: NonNullable<LoginPage['purpose']>,
    url: string,
    mayEnter: (person: Person) => boolean = () => true,
  ): Promise<Reply> => {
    const context: LoginContext = { visit: ownPageVisit(own), page: { purpose } }
    if (own.http.method === 'POST') {
      checkSent(own)
      return submit(context)
    }
    if (isAsking(own.http)) return ask(context, undefined)
    const person = await flow.signedIn(own.http)
    if (person === undefined && flow.sessionsOf(own.http).others.length > 0)
      return redirect(flow.interactions.pageUrl(own.interactionId, 'select'))
    if (person !== undefined && mayEnter(person)) return redirect(url)
    return ask(context, person?.session.username)
  }

  const forDevice = (own: OwnInteraction, userCode: string | undefined): Promise<Reply> => {
    const query = userCode === undefined ? '' : `?user_code=${formatUserCode(userCode)}`
    return forOwnPage(own, 'device', `${issuer}/device${query}`)
  }

  const forAccount = (own: OwnInteraction, { section, again }: AccountVisit): Promise<Reply> =>
    forOwnPage(
      own,
      again ? 'confirmation' : 'account',
      accountUrl(issuer, section),
      ({ session }) => again !== true || isRecent(session, clock),
    )

  return async (http) => {
    const own = http.method === 'POST' ? await getInteraction(http, flow, options) : await findInteraction(http, flow)
    if (own === undefined) return claimInteraction(http, flow)
    const { device, account } = own.purpose
    if (device !== undefined) return forDevice(own, device.userCode)
    if (account !== undefined) return forAccount(own, account)
    const open = await openInteraction(own, options.clients)
    return leadingBack(open.client, issuer, () => forClient(own, open))
  }
}
