import { csrfToken, isCsrfToken } from '../interaction/csrf.js'
import { setBrowserSessions, withoutSessions, type BrowserSessions } from '../interaction/browser-sessions.js'
import { logoOrigins } from '../interaction/pages/client-on-page.js'
import { formPostPage } from '../interaction/pages/form-post-page.js'
import { logoutPage } from '../interaction/pages/logout-page.js'
import { signedOutPage } from '../interaction/pages/signed-out-page.js'
import type { FoundSession } from '../interaction/session.js'
import { displayName } from '../oauth/subjects/account.js'
import type { Client } from '../oauth/clients/client.js'
import { OAuthError, withDetails, type ErrorDetails } from '../oauth/errors.js'
import { said, type Said } from '../oauth/said.js'
import { checkNoneRepeated, type ParameterList } from '../oauth/requests/params.js'
import { withQuery } from './authorization-flow/with-query.js'
import { createEndSession, type EndSessionOptions } from './authorization-flow/end-session.js'
import type { Flow } from './authorization-flow/flow.js'
import { logoutCsrf } from './authorization-flow/logout-form.js'
import type { IdTokenHint, RequestRules, SignInRecords, CommonOptions } from './authorization-flow/options.js'
import { clientOnPage, leadBack, refuseForgery } from './authorization-flow/page-form.js'
import { pagesFor } from './authorization-flow/pages-for.js'
import { getParameters } from './authorization-flow/parameters.js'
import { isStateTooLong } from './authorization-flow/target.js'
import type { Declaration } from './endpoint.js'
import { page, redirect, type EndpointRequest, type Reply } from './message.js'
import type { RecordedHandler } from './refusals.js'

/** A checked logout request. */
interface LogoutRequest {
  readonly hint?: IdTokenHint | undefined
  readonly client?: Client | undefined
  /** Where the browser goes afterwards, with `state`. If absent, to a page of ours. */
  readonly target?: string
  readonly uiLocales?: string | undefined
}

/** Repeated by the form of the page. */
const names = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales'] as const

const knownOf = (sent: ParameterList['values']): Readonly<Record<string, string>> =>
  Object.fromEntries(names.flatMap((name) => (sent.has(name) ? [[name, sent.get(name) ?? '']] : [])))

/** GET and POST `/logout` (OpenID Connect RP-Initiated Logout 1.0). */
export const logoutEndpoint = {
  path: '/logout',
  methods: ['GET', 'POST'],
  body: 'page-form',
  errorTitle: 'sign_out_error',
  pages: [logoutPage, signedOutPage, formPostPage],
  limit: { byAddress: 'interaction', byRefusals: false },
  refusedEvent: 'logout.refused',
  discovery: ({ issuer }) => ({
    end_session_endpoint: `${issuer}/logout`,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  }),
} as const satisfies Declaration

/** What scripts and templates send when they have no token. */
const nothing = /^(?:undefined|null|none|nil|nan|false|\{\}|\[\]|\[object \w+\]|""|'')?$/i

const saysNothing = (hint: string | undefined): boolean => hint !== undefined && nothing.test(hint.trim())

const invalid = (description: string | Said, details?: ErrorDetails): never => {
  throw new OAuthError('invalid_request', description, details)
}

type Options = EndSessionOptions &
  Pick<CommonOptions, 'issuer' | 'clients' | 'pages' | 'subjects'> &
  Pick<SignInRecords, 'sessionTtlSeconds'> &
  Pick<RequestRules, 'verifyIdTokenHint'>

/** For a form that lists everyone who is signed in; valid for the browser's current sessions. */
const allCsrf = ({ current, others }: BrowserSessions): string =>
  csrfToken([current ?? '', ...others].join('.'), 'logout', 'all')

/** Checks the contents of a request. */
const createReadLogout = ({ issuer, clients, verifyIdTokenHint }: Options) => {
  const getHint = async (text: string | undefined): Promise<IdTokenHint | undefined> =>
    text === undefined ? undefined : ((await verifyIdTokenHint(text)) ?? invalid('The id_token_hint is invalid.'))

  /** For an application that has lost its ID token: the person signs out here, without a redirect. */
  const readWithoutHint = async (values: ParameterList['values']): Promise<LogoutRequest> => {
    const clientId = values.get('client_id')
    const client = clientId === undefined ? undefined : await clients.findEnabled(clientId)
    return { client, uiLocales: values.get('ui_locales') }
  }

  /** RP-Initiated Logout §2, §3: nobody is redirected to an unregistered URI. */
  return async (values: ParameterList['values']): Promise<LogoutRequest> => {
    if (saysNothing(values.get('id_token_hint'))) return readWithoutHint(values)
    const hint = await getHint(values.get('id_token_hint'))
    const clientId = values.get('client_id') ?? [hint?.aud].flat()[0]
    if (hint !== undefined && ![hint.aud].flat().includes(clientId ?? ''))
      invalid('The id_token_hint was issued to another client.')
    const client = clientId === undefined ? undefined : await clients.findEnabled(clientId)
    if (clientId !== undefined && client === undefined) invalid(said('unknown_client'))
    // Anyone can send a client's name, but not its ID token.
    const back = hint && client && leadBack(client, issuer)
    const [uri, state] = [values.get('post_logout_redirect_uri'), values.get('state')]
    if (state !== undefined && isStateTooLong(state)) invalid('The state is too long.', back)
    const uiLocales = values.get('ui_locales')
    if (uri === undefined || client === undefined) return { hint, client, uiLocales }
    if (client.post_logout_redirect_uris?.includes(uri) !== true)
      invalid('The post_logout_redirect_uri is not registered for this client.', back)
    return { hint, client, uiLocales, target: state === undefined ? uri : withQuery(uri, { state }) }
  }
}

/** The pages of the endpoint. */
const createLogoutPages = ({ issuer, pages }: Options, flow: Flow, url: string) => {
  const { cookies } = flow

  const namesOf = async (http: EndpointRequest, browser: BrowserSessions): Promise<readonly string[]> =>
    (await flow.everybody(http, browser)).map(({ account, session }) => displayName(account, session.username))

  const ask = async (
    http: EndpointRequest,
    current: FoundSession,
    { client, uiLocales }: LogoutRequest,
    sent: ParameterList['values'],
  ): Promise<Reply> => {
    const person = await flow.signedIn(http)
    const shown = client && clientOnPage(client)
    const spoken = pagesFor(pages, http, uiLocales)
    const html = spoken.show(logoutPage, {
      action: url,
      csrf: logoutCsrf(http, cookies, current.session),
      ...(shown && { client: shown }),
      account: { name: person ? displayName(person.account, person.session.username) : current.session.subject },
      others: await namesOf(http, { current: undefined, others: flow.sessionsOf(http).others }),
      parameters: knownOf(sent),
    })
    return { ...page(200, html, spoken.language), images: logoOrigins([shown]) }
  }

  /** A posted hint is kept out of addresses, and thus out of proxies' logs. */
  const askAgain = (http: EndpointRequest, sent: ParameterList['values']): Reply => {
    const parameters = knownOf(sent)
    if (!sent.has('id_token_hint')) return redirect(withQuery(url, parameters))
    const spoken = pagesFor(pages, http, sent.get('ui_locales'))
    return page(200, spoken.show(formPostPage, { action: url, parameters, isOurs: true }), spoken.language)
  }

  /** If no client is waiting, the page names the people who remain. */
  const signedOut = async (
    http: EndpointRequest,
    { client, target, uiLocales }: LogoutRequest,
    left: BrowserSessions,
    set: Reply['cookies'],
  ): Promise<Reply> => {
    const others = await namesOf(http, left)
    const login = client?.initiate_login_uri
    const spoken = pagesFor(pages, http, uiLocales)
    const html = spoken.show(signedOutPage, {
      ...(client && { client: clientOnPage(client, target) }),
      ...(target !== undefined && { returnUrl: target }),
      // OIDC Core §4.
      ...(login !== undefined && { backUrl: withQuery(login, { iss: issuer }) }),
      ...(others.length > 0 && { others: { names: others, action: url, csrf: allCsrf(left) } }),
    })
    return page(200, html, spoken.language, set)
  }

  return { ask, askAgain, signedOut }
}

export const createLogoutEndpoint = (options: Options, flow: Flow): RecordedHandler => {
  const { sessionTtlSeconds, subjects } = options
  const { cookies, sessions } = flow
  const endSession = createEndSession(options, sessions)
  const url = `${options.issuer}${logoutEndpoint.path}`
  const read = createReadLogout(options)
  const show = createLogoutPages(options, flow, url)

  /** Ends these sessions of the browser and continues. */
  const leave = async (
    http: EndpointRequest,
    request: LogoutRequest,
    ended: readonly FoundSession[],
    all: readonly FoundSession[],
  ): Promise<Reply> => {
    for (const session of ended) await endSession(http.requestId, session, request.client?.client_id)
    const before = flow.sessionsOf(http)
    const left = withoutSessions(
      before,
      ended.map(({ cookie }) => cookie),
    )
    const set = setBrowserSessions(cookies, before, left, sessionTtlSeconds)
    const { client, target } = request
    const isFree =
      client === undefined ||
      (await flow.mayLeave(
        http,
        client,
        all.map(({ session }) => session.subject),
      ))
    if (target !== undefined && isFree) return redirect(target, set)
    return show.signedOut(http, request, left, set)
  }

  /** Another site's form comes without our cookies; sent again from our page, it has them. */
  const lacksCookies = (http: EndpointRequest): boolean =>
    http.method === 'POST' &&
    http.header('sec-fetch-site') === 'cross-site' &&
    http.cookie(cookies.session) === undefined

  /** Whether the hint is for this very session. */
  const isOf = ({ sid, subject }: FoundSession['session'], { hint, client }: LogoutRequest): boolean =>
    hint !== undefined &&
    client !== undefined &&
    hint.sid === subjects.sidSeenBy(client, sid) &&
    hint.sub === subjects.seenBy(client, subject)

  const answer: RecordedHandler = async (http, seen) => {
    const sent = checkNoneRepeated(getParameters(http))
    if (lacksCookies(http)) return show.askAgain(http, sent)
    const request = await read(sent)
    seen.claimedClientId = request.client?.client_id
    const browser = flow.sessionsOf(http)
    const all = await sessions.findAll(browser)
    const current = all.find(({ cookie }) => cookie === browser.current)
    const hinted = all.find(({ session }) => isOf(session, request))
    if (hinted !== undefined) return leave(http, request, [hinted], all)
    const csrf = http.method === 'POST' ? http.form.values.get('csrf') : undefined
    const isOfAll = isCsrfToken(allCsrf(browser), csrf)
    if (current === undefined) return leave(http, request, isOfAll ? all : [], all)
    if (csrf === undefined) return show.ask(http, current, request, sent)
    if (!isOfAll && !isCsrfToken(logoutCsrf(http, cookies, current.session), csrf)) return refuseForgery()
    return leave(http, request, http.form.values.get('accounts') === 'all' ? all : [current], all)
  }

  return async (http, seen) => {
    try {
      return await answer(http, seen)
    } catch (error) {
      throw error instanceof OAuthError ? withDetails(error, { signOutUrl: url }) : error
    }
  }
}
