import { readBrowserNames } from '../../interaction/browser-names.js'
import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import type { AccountVisit, InteractionPage } from '../../interaction/interaction.js'
import { logoOrigins } from '../../interaction/pages/client-on-page.js'
import type { LoginPage } from '../../interaction/pages/pages.js'
import type { SignInRequest } from '../../interaction/sign-in-method.js'
import { formatUserCode } from '../../oauth/device-code.js'
import { OAuthError } from '../../oauth/errors.js'
import { newOpaqueToken } from '../../opaque-token.js'
import type { AuthorizationRequest } from '../../oauth/authorization-request.js'
import type { Client } from '../../oauth/client.js'
import { findAuthTime } from '../../oauth/subject-end.js'
import { accountUrl } from '../authorization-flow/account-url.js'
import { createEndSession, type EndSessionOptions } from '../authorization-flow/end-session.js'
import type { Flow } from '../authorization-flow/flow.js'
import { findLoginOrigin } from '../authorization-flow/login-origin.js'
import type { AuthorizationOptions } from '../authorization-flow/options.js'
import { checkForm, clientOnPage, leadingBack, refuseForgery } from '../authorization-flow/page-form.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import type { Declaration } from '../endpoint.js'
import { keepChoice, wantsOtherAccount } from '../authorization-flow/other-account.js'
import { isHinted, type Person } from '../authorization-flow/people.js'
import { isRecent } from '../authorization-flow/recent-sign-in.js'
import { page, redirect, type Handler, type Reply } from '../message.js'
import {
  claimInteraction,
  findInteraction,
  getInteraction,
  openInteraction,
  sealClient,
  type OpenInteraction,
  type OwnInteraction,
} from './open-interaction.js'

/** What a login page is shown for. */
interface LoginContext {
  readonly page: Partial<LoginPage>
  readonly asked: SignInRequest
}

/** GET and POST `/interaction/{id}/login`. Where to go next is the interaction's own; nothing in the form can say. */
export const loginPage = {
  path: '/interaction/{id}/login',
  methods: ['GET', 'POST'],
  body: 'page-form',
  errorTitle: 'Sign-in error',
  limit: { byAddress: 'interaction', byRefusals: false },
} as const satisfies Declaration

export const createLoginPage = (options: AuthorizationOptions & EndSessionOptions, flow: Flow): Handler => {
  const { issuer, pages, methods, audit, clock, revocations } = options

  const endSession = createEndSession(options, flow.sessions)

  const csrfOf = ({ browserCookie, interactionId }: OwnInteraction): string =>
    csrfToken(browserCookie, interactionId, 'login')

  const show = (
    own: OwnInteraction,
    { page: about, asked }: LoginContext,
    status = 200,
    extra: Partial<LoginPage> = {},
  ): Reply => {
    const action = flow.interactions.pageUrl(own.interactionId, 'login')
    const spoken = pagesFor(pages, own.http, asked.uiLocales.length > 0 ? asked.uiLocales.join(' ') : undefined)
    const html = spoken.login({ action, csrf: csrfOf(own), ...about, ...extra })
    const reply = page(status, html, spoken.language)
    return { ...reply, images: logoOrigins([about.client]) }
  }

  const checkSent = (own: OwnInteraction): void => {
    checkForm(own.http)
    if (!isCsrfToken(csrfOf(own), own.http.form.values.get('csrf'))) refuseForgery()
  }

  const submit = async (own: OwnInteraction, context: LoginContext): Promise<Reply> => {
    const { http, interactionId } = own
    const field = (name: string): string => http.form.values.get(name) ?? ''
    const [username, password] = [field('username'), field('password')]
    const begun = clock()
    const from = await findLoginOrigin(http, flow, username)
    const [method] = methods.values()
    if (method === undefined) throw new Error('there is no sign-in method')
    const attempt = {
      id: newOpaqueToken(),
      interactionId,
      challenge: newOpaqueToken(),
      callbackUrl: `${issuer}/sign-in/${method.id}/callback`,
      from,
      request: context.asked,
      signal: http.signal,
    }
    const result = await method.finish(attempt, { username, password })
    const refused = { event: 'login.refused', claimedClientId: context.asked.clientId } as const
    if (result.outcome !== 'passed')
      await options.refusals.record(http, { ...refused, why: result.outcome, guessed: result.subject })
    switch (result.outcome) {
      case 'refused':
        return show(own, context, 403, { username, problem: 'wrong' })
      case 'locked': {
        const { retryAfterSeconds } = result
        const reply = show(own, context, 429, { username, problem: 'locked', retryAfterSeconds })
        return { ...reply, headers: { ...reply.headers, 'Retry-After': String(retryAfterSeconds) } }
      }
      case 'passed': {
        const [authTime, namesake] = await Promise.all([
          findAuthTime(revocations, result.subject, begun),
          options.clients.find(result.subject),
        ])
        // RFC 9700 §4.15: who reads `sub` alone must not take a service for this person.
        if (namesake !== undefined) {
          const why = 'the subject is the id of a client'
          await options.refusals.record(http, { ...refused, why, sub: result.subject })
          return show(own, context, 403, { username, problem: 'wrong' })
        }
        if (authTime === undefined) {
          await options.refusals.record(http, { ...refused, why: 'ended meanwhile', sub: result.subject })
          return show(own, context, 403, { username, problem: 'again' })
        }
        const at = { authTime, interactionId, username, seen: readBrowserNames(http.header('user-agent')) }
        const remembered = await flow.knownBrowsers.remember(http.cookie(flow.cookies.knownBrowser), username)
        const started = await flow.sessions.start(result, at, flow.sessionsOf(http))
        for (const displaced of started.displaced) await endSession(http.requestId, displaced)
        const { subject, sid } = started.session
        const trail = { request_id: http.requestId, client_id: context.asked.clientId }
        await audit.record({ event: 'login.succeeded', ...trail, sub: subject, sid, amr: result.amr })
        // Got again rather than answered here: a reload, or a second click, must not send the password once more.
        return redirect(flow.interactions.pageUrl(interactionId, 'login'), [...started.cookies, ...remembered])
      }
    }
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
      page: {
        client: clientOnPage(client, request.redirectUri),
        sealedClient: sealClient(open),
        cancel: true,
      },
      asked: askedOf(client, request),
    }
    if (http.method === 'POST') {
      checkSent(own)
      if (http.form.values.get('decision') === 'cancel')
        return flow.refuse(open, new OAuthError('access_denied', 'The user did not sign in.'))
      return submit(own, context)
    }
    const named = (username: string | undefined): LoginContext => ({ ...context, page: { ...context.page, username } })
    if (wantsOtherAccount(http)) return show(own, named(await hintOfAnother(open)))
    const to = (next: InteractionPage) => () =>
      redirect(keepChoice(http, flow.interactions.pageUrl(interactionId, next)))
    return flow.goOn(open, {
      select: to('select'),
      login: (person) => show(own, named(usernameOf(open, person))),
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
    const context: LoginContext = { page: { purpose }, asked: { scopes: [], acrValues: [], uiLocales: [] } }
    if (own.http.method === 'POST') {
      checkSent(own)
      return submit(own, context)
    }
    if (wantsOtherAccount(own.http)) return show(own, context)
    const person = await flow.signedIn(own.http)
    if (person === undefined && flow.sessionsOf(own.http).others.length > 0)
      return redirect(flow.interactions.pageUrl(own.interactionId, 'select'))
    if (person !== undefined && mayEnter(person)) return redirect(url)
    return show(own, context, 200, { username: person?.session.username })
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

const askedOf = (client: Client, request: AuthorizationRequest): SignInRequest => ({
  clientId: client.client_id,
  ...(client.client_name !== undefined && { clientName: client.client_name }),
  scopes: request.scope,
  acrValues: request.wantedAcr?.values ?? [],
  ...(request.maxAge !== undefined && { maxAge: request.maxAge }),
  ...(request.prompt.length > 0 && { prompt: request.prompt.join(' ') }),
  ...(request.loginHint !== undefined && { loginHint: request.loginHint }),
  uiLocales: request.locale?.split(' ') ?? [],
})
