import { epochSeconds } from '../../clock.js'
import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import type { LoginPage } from '../../interaction/pages.js'
import { OAuthError } from '../../oauth/errors.js'
import type { Flow } from '../authorize/flow.js'
import type { AuthorizeOptions } from '../authorize/options.js'
import { page, redirect, type Endpoint, type Reply } from '../message.js'
import { checkForm, clientOnPage, openInteraction, refuseForgery, type OpenInteraction } from './open-interaction.js'

/** GET and POST `/interaction/{id}/login`. Where to go next is the interaction's own; nothing in the form can say. */
export const createLoginPage = (options: AuthorizeOptions, flow: Flow): Endpoint => {
  const { pages, login, audit, clock } = options

  const csrfOf = ({ browserCookie, interactionId }: OpenInteraction): string =>
    csrfToken(browserCookie, interactionId, 'login')

  const show = (open: OpenInteraction, status = 200, extra: Partial<LoginPage> = {}): Reply => {
    const { client, request, interactionId } = open
    const html = pages.login({
      action: flow.interactions.pageUrl(interactionId, 'login'),
      csrf: csrfOf(open),
      client: clientOnPage(client),
      cancel: true,
      ...(request.loginHint !== undefined && { username: request.loginHint }),
      ...(request.locale !== undefined && { locale: request.locale }),
      ...extra,
    })
    return page(status, html)
  }

  const submit = async (open: OpenInteraction): Promise<Reply> => {
    const { http, client, interactionId } = open
    checkForm(http)
    const field = (name: string): string | undefined => http.form.values.get(name)
    if (!isCsrfToken(csrfOf(open), field('csrf'))) return refuseForgery()
    if (field('decision') === 'cancel')
      return flow.refuse(open, new OAuthError('access_denied', 'The user did not sign in.'))

    const [username = '', password = ''] = [field('username'), field('password')]
    const result = await login.authenticate({ username, password }, http.address, http.signal)
    const trail = { request_id: http.requestId, client_id: client.client_id }
    switch (result.outcome) {
      case 'refused':
        await audit.record({ event: 'login.refused', ...trail, reason: 'refused' })
        return show(open, 403, { username, problem: 'wrong' })
      case 'locked': {
        await audit.record({ event: 'login.refused', ...trail, reason: 'locked' })
        const { retryAfterSeconds } = result
        const reply = show(open, 429, { username, problem: 'locked', retryAfterSeconds })
        return { ...reply, headers: { ...reply.headers, 'Retry-After': String(retryAfterSeconds) } }
      }
      case 'passed': {
        const at = { authTime: epochSeconds(clock), interactionId }
        const started = await flow.sessions.start(result, at, http.cookie(flow.cookies.session))
        const { subject, sid } = started.session
        await audit.record({ event: 'login.succeeded', ...trail, sub: subject, sid, amr: result.amr })
        // Got again rather than answered here: a reload, or a second click, must not send the password once more.
        return redirect(flow.interactions.pageUrl(interactionId, 'login'), [started.cookie])
      }
    }
  }

  return async (http) => {
    const open = await openInteraction(http, flow, options.findClient)
    if (http.method === 'POST') return submit(open)
    return flow.goOn(open, {
      login: () => show(open),
      consent: () => redirect(flow.interactions.pageUrl(open.interactionId, 'consent')),
      code: (session) => flow.grant(open, session),
    })
  }
}
