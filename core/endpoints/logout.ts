import { isCsrfToken } from '../interaction/csrf.js'
import type { Session } from '../interaction/session.js'
import { displayName } from '../oauth/account.js'
import type { Client } from '../oauth/client.js'
import { OAuthError } from '../oauth/errors.js'
import { checkNoneRepeated, type ParameterList } from '../oauth/params.js'
import type { EndSessionGrants } from '../oauth/session-grants.js'
import { withQuery } from './authorization-flow/answer.js'
import type { Flow } from './authorization-flow/flow.js'
import { logoutCsrf } from './authorization-flow/logout-form.js'
import type { AuthorizationOptions, IdTokenHint } from './authorization-flow/options.js'
import { clientOnPage, refuseForgery } from './authorization-flow/page-form.js'
import { getParameters } from './authorization-flow/parameters.js'
import { isStateTooLong } from './authorization-flow/target.js'
import type { Declaration } from './endpoint.js'
import { page, redirect, type EndpointRequest, type Reply } from './message.js'
import type { RecordedHandler } from './refusals.js'

export interface LogoutOptions extends AuthorizationOptions {
  readonly endGrants: EndSessionGrants
}

/** What a request for logout says, checked. */
interface LogoutRequest {
  readonly hint?: IdTokenHint | undefined
  readonly client?: Client | undefined
  /** Where the browser goes afterwards, with `state`. Absent: to a page of ours. */
  readonly target?: string
}

/** Sent again by the form of the page. */
const names = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'] as const

/** GET and POST `/logout` (OpenID Connect RP-Initiated Logout 1.0). */
export const logoutEndpoint = {
  path: '/logout',
  methods: ['GET', 'POST'],
  body: 'page-form',
  errorTitle: 'Sign-out error',
  limit: { byAddress: 'interaction', byRefusals: false },
  refusedEvent: 'logout.refused',
  discovery: ({ issuer }) => ({
    end_session_endpoint: `${issuer}/logout`,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  }),
} as const satisfies Declaration

const invalid = (description: string): never => {
  throw new OAuthError('invalid_request', description)
}

export const createLogoutEndpoint = (options: LogoutOptions, flow: Flow): RecordedHandler => {
  const { issuer, audit, clients, pages, subjects, verifyIdTokenHint, endGrants } = options
  const { cookies } = flow
  const url = `${issuer}${logoutEndpoint.path}`

  const getHint = async (text: string | undefined): Promise<IdTokenHint | undefined> =>
    text === undefined ? undefined : ((await verifyIdTokenHint(text)) ?? invalid('The id_token_hint is invalid.'))

  /** RP-Initiated Logout §2, §3: nobody is sent to a URI that a client has not registered. */
  const read = async (values: ParameterList['values']): Promise<LogoutRequest> => {
    const hint = await getHint(values.get('id_token_hint'))
    const clientId = values.get('client_id') ?? [hint?.aud].flat()[0]
    if (hint !== undefined && ![hint.aud].flat().includes(clientId ?? ''))
      invalid('The id_token_hint was issued to another client.')
    const client = clientId === undefined ? undefined : await clients.findEnabled(clientId)
    if (clientId !== undefined && client === undefined) invalid('The client is unknown.')
    const [uri, state] = [values.get('post_logout_redirect_uri'), values.get('state')]
    if (state !== undefined && isStateTooLong(state)) invalid('The state is too long.')
    if (uri === undefined || client === undefined) return { hint, client }
    if (client.post_logout_redirect_uris?.includes(uri) !== true)
      invalid('The post_logout_redirect_uri is not registered for this client.')
    return { hint, client, target: state === undefined ? uri : withQuery(uri, { state }) }
  }

  const leave = ({ client, target }: LogoutRequest, set: readonly string[] = []): Reply =>
    target === undefined
      ? page(200, pages.signedOut({ ...(client && { client: clientOnPage(client) }) }), set)
      : redirect(target, set)

  const end = async (http: EndpointRequest, session: Session, request: LogoutRequest): Promise<Reply> => {
    // The session last: who meets an outage can try again.
    const ended = await endGrants(session.subject, [session.sid])
    await flow.sessions.end(http.cookie(cookies.session), session)
    await audit.record({
      event: 'session.ended',
      request_id: http.requestId,
      client_id: request.client?.client_id,
      sub: session.subject,
      sid: session.sid,
      grants: ended.get(session.sid),
    })
    return leave(request, [cookies.set(cookies.session, '', 0)])
  }

  const ask = async (
    http: EndpointRequest,
    session: Session,
    { client }: LogoutRequest,
    sent: ParameterList['values'],
  ): Promise<Reply> => {
    const person = await flow.signedIn(http)
    const html = pages.logout({
      action: url,
      csrf: logoutCsrf(http, cookies, session),
      ...(client && { client: clientOnPage(client) }),
      account: { name: person ? displayName(person.account) : session.subject },
      parameters: Object.fromEntries(names.flatMap((name) => (sent.has(name) ? [[name, sent.get(name) ?? '']] : []))),
    })
    return page(200, html)
  }

  /** A form that another site posts comes without our cookies; the same request by GET has them. */
  const lacksCookies = (http: EndpointRequest): boolean =>
    http.method === 'POST' &&
    http.header('sec-fetch-site') === 'cross-site' &&
    http.cookie(cookies.session) === undefined

  /** Does the hint speak of this very session? */
  const isOf = ({ sid, subject }: Session, { hint, client }: LogoutRequest): boolean =>
    hint !== undefined &&
    client !== undefined &&
    hint.sid === subjects.sidSeenBy(client, sid) &&
    hint.sub === subjects.seenBy(client, subject)

  return async (http, seen) => {
    const sent = checkNoneRepeated(getParameters(http))
    if (lacksCookies(http)) return redirect(withQuery(url, Object.fromEntries(sent)))
    const request = await read(sent)
    seen.claimedClientId = request.client?.client_id
    const session = await flow.sessions.find(http.cookie(cookies.session))
    if (session === undefined) return leave(request)
    if (isOf(session, request)) return end(http, session, request)
    if (http.method !== 'POST' || !http.form.values.has('csrf')) return ask(http, session, request, sent)
    return isCsrfToken(logoutCsrf(http, cookies, session), http.form.values.get('csrf'))
      ? end(http, session, request)
      : refuseForgery()
  }
}
