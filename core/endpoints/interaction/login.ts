import type { Clock } from '../../clock.js'
import { isCsrfToken } from '../../interaction/csrf.js'
import type { SignInPurpose } from '../../interaction/interaction.js'
import { loginPage, type LoginPage } from '../../interaction/pages/login-page.js'
import type { ClientDirectory } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { formatUserCode } from '../../oauth/grants/device-code.js'
import { accountUrl } from '../authorization-flow/account-url.js'
import type { Flow } from '../authorization-flow/flow.js'
import { keepChoice, wantsOtherAccount } from '../authorization-flow/other-account.js'
import { checkForm, clientOnPage, leadingBack, refuseForgery } from '../authorization-flow/page-form.js'
import { isHinted, type Person } from '../authorization-flow/people.js'
import { isRecent } from '../authorization-flow/recent-sign-in.js'
import type { Declaration } from '../endpoint.js'
import { redirect, type EndpointRequest, type Handler, type Reply } from '../message.js'
import { createAnswerLogin } from './answer-login.js'
import { createAskLogin, type LoginContext } from './ask-login.js'
import { readLoginAddress } from './login-address.js'
import {
  claimInteraction,
  findInteraction,
  getInteraction,
  openInteraction,
  tagClient,
  type OpenInteraction,
  type OwnInteraction,
} from './open-interaction.js'
import { createShowLogin, loginCsrf, type ShowLoginOptions } from './show-login.js'
import type { SignInParts } from './sign-in-parts.js'
import { clientContext, ownPageContext } from './sign-in-context.js'

/** GET and POST `/interaction/{id}/login`. The interaction decides where to go next; the form cannot. */
export const loginEndpoint = {
  path: '/interaction/{id}/login',
  methods: ['GET', 'POST'],
  body: 'page-form',
  errorTitle: 'sign_in_error',
  pages: [loginPage],
  limit: { byAddress: 'interaction', byRefusals: false },
} as const satisfies Declaration

export interface LoginOptions extends ShowLoginOptions {
  readonly clients: Pick<ClientDirectory, 'findEnabled'>
}

export const createLoginPage = (options: LoginOptions, flow: Flow, parts: SignInParts): Handler => {
  const { issuer, clock } = options
  const show = createShowLogin(options, flow, parts)
  const { ask, begin } = createAskLogin(options, flow, parts, show)
  const answer = createAnswerLogin(options, flow, parts, { show, begin })

  const forClient = async (own: OwnInteraction, open: OpenInteraction): Promise<Reply> => {
    const { http, client, request, interactionId } = open
    const page = { client: clientOnPage(client, request.redirectUri), sealedClient: tagClient(open), cancel: true }
    const context: LoginContext = { visit: clientContext(own, client, request), page }
    if (http.method === 'POST') {
      checkSent(own)
      if (http.form.values.get('decision') === 'cancel')
        return flow.refuse(open, new OAuthError('access_denied', 'The user did not sign in.'))
      return answer(context)
    }
    if (isAsking(http)) return ask(context, await hintOfAnother(flow, open))
    const step = await flow.findNext(open)
    switch (step.next) {
      case 'login':
        return ask(context, usernameOf(open, step.person))
      case 'code':
        return flow.grant(open, step.person.session)
      case 'refuse':
        return flow.refuse({ ...open, sub: step.sub }, step.error)
      default:
        return redirect(keepChoice(http, flow.interactions.pageUrl(interactionId, step.next)))
    }
  }

  const forOwnPage = async (own: OwnInteraction, { purpose, url, mayEnter }: OwnPage): Promise<Reply> => {
    const { http, interactionId } = own
    const context: LoginContext = { visit: ownPageContext(own), page: { purpose } }
    if (http.method === 'POST') {
      checkSent(own)
      return answer(context)
    }
    if (isAsking(http)) return ask(context, undefined)
    const person = await flow.signedIn(http)
    if (person === undefined && flow.sessionsOf(http).others.length > 0)
      return redirect(flow.interactions.pageUrl(interactionId, 'select'))
    return person !== undefined && mayEnter(person) ? redirect(url) : ask(context, person?.session.username)
  }

  return async (http) => {
    const own = http.method === 'POST' ? await getInteraction(http, flow, options) : await findInteraction(http, flow)
    if (own === undefined) return claimInteraction(http, flow)
    const ownPage = ownPageOf(own.purpose, issuer, clock)
    if (ownPage !== undefined) return forOwnPage(own, ownPage)
    const open = await openInteraction(own, options.clients)
    return leadingBack(open.client, issuer, () => forClient(own, open))
  }
}

/** One of our pages at `url`, open to signed-in people who `mayEnter`. */
interface OwnPage {
  readonly purpose: NonNullable<LoginPage['purpose']>
  readonly url: string
  readonly mayEnter: (person: Person) => boolean
}

/** Undefined for a sign-in that a client is waiting for. */
const ownPageOf = ({ device, account }: SignInPurpose, issuer: string, clock: Clock): OwnPage | undefined => {
  if (device !== undefined) {
    const query = device.userCode === undefined ? '' : `?user_code=${formatUserCode(device.userCode)}`
    return { purpose: 'device', url: `${issuer}/device${query}`, mayEnter: () => true }
  }
  if (account === undefined) return undefined
  const { section, again } = account
  return {
    purpose: again ? 'confirmation' : 'account',
    url: accountUrl(issuer, section),
    mayEnter: ({ session }) => again !== true || isRecent(session, clock),
  }
}

const checkSent = (own: OwnInteraction): void => {
  checkForm(own.http)
  if (!isCsrfToken(loginCsrf(own), own.http.form.values.get('csrf'))) refuseForgery()
}

/** Whether an address asks for a sign-in even if a person is signed in. */
const isAsking = (http: EndpointRequest): boolean => {
  const { method, problem, attempt } = readLoginAddress(http)
  return wantsOtherAccount(http) || (method ?? problem ?? attempt) !== undefined
}

/** A person who wants another account does not want the one already signed in. */
const hintOfAnother = async (
  flow: Flow,
  { http, request: { loginHint } }: OpenInteraction,
): Promise<string | undefined> => {
  if (loginHint === undefined) return undefined
  const everybody = await flow.everybody(http)
  return everybody.some((person) => isHinted(loginHint, person)) ? undefined : loginHint
}

/** The name of the person who must sign in again, unless the client wants another person and none was chosen. */
const usernameOf = ({ http, request: { loginHint } }: OpenInteraction, person: Person | undefined) =>
  person === undefined || (loginHint !== undefined && !isHinted(loginHint, person) && !http.query.values.has('account'))
    ? loginHint
    : (person.session.username ?? loginHint)
