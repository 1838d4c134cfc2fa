import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import type { InteractionPage } from '../../interaction/interaction.js'
import { askPlugin } from '../../oauth/ask-plugin.js'
import { displayName } from '../../oauth/account.js'
import { logoOrigins } from '../../interaction/pages/client-on-page.js'
import type { Session } from '../../interaction/session.js'
import type { AuthorizationDetail } from '../../oauth/authorization-details.js'
import { personalClaims } from '../../oauth/claims-parameter.js'
import { OAuthError } from '../../oauth/errors.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { AuthorizationOptions } from '../authorization-flow/options.js'
import { checkForm, clientOnPage, leadingBack, refuseForgery } from '../authorization-flow/page-form.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import type { Declaration } from '../endpoint.js'
import { keepChoice, otherPersonUrl } from '../authorization-flow/other-account.js'
import type { Person } from '../authorization-flow/people.js'
import { page, redirect, type Handler, type Reply } from '../message.js'
import { getInteraction, openInteraction, sealClient, type OpenInteraction } from './open-interaction.js'

/** GET and POST `/interaction/{id}/consent`. What is granted stands in the interaction; the form says yes or no to it. */
export const consentPage = {
  path: '/interaction/{id}/consent',
  methods: ['GET', 'POST'],
  body: 'page-form',
  errorTitle: 'Sign-in error',
  limit: { byAddress: 'interaction', byRefusals: false },
} as const satisfies Declaration

export const createConsentPage = (options: AuthorizationOptions, flow: Flow): Handler => {
  const { pages, audit, detailsTypes } = options

  /** Good for the person who was shown the page and no other, should somebody else sign in meanwhile. */
  const csrfOf = ({ browserCookie, interactionId }: OpenInteraction, { sid, subject }: Session): string =>
    csrfToken(browserCookie, interactionId, `consent\n${sid}\n${subject}`)

  const show = async (open: OpenInteraction, { session, account }: Person): Promise<Reply> => {
    const { client, request, interactionId, http } = open
    const { authorizationDetails } = request
    const details = authorizationDetails && (await describeDetails(authorizationDetails, http.signal))
    const shown = clientOnPage(client, request.redirectUri)
    const spoken = pagesFor(pages, http, request.locale)
    const html = spoken.consent({
      action: keepChoice(http, flow.interactions.pageUrl(interactionId, 'consent')),
      csrf: csrfOf(open, session),
      sealedClient: sealClient(open),
      client: shown,
      account: {
        name: displayName(account),
        // With a hint the client wants this person and no other.
        ...(request.subject === undefined && { otherUrl: otherPersonUrl(flow, http, interactionId) }),
      },
      scopes: request.scope,
      claims: personalClaims(request.requestedClaims),
      resources: request.resource,
      ...(details && { details }),
    })
    return { ...page(200, html, spoken.language), images: logoOrigins([shown]) }
  }

  /** A page that leaves out what is approved is worse than none: the configuration may have changed meanwhile. */
  const describeDetails = (details: readonly AuthorizationDetail[], signal: AbortSignal) =>
    Promise.all(
      details.map((detail) => {
        const type = detailsTypes.get(detail.type)
        if (type !== undefined)
          return askPlugin('a type of authorization_details', signal, async () => type.describe(detail, signal))
        throw new OAuthError('invalid_authorization_details', 'What the application asks for is no longer available.')
      }),
    )

  const submit = async (open: OpenInteraction, session: Session): Promise<Reply> => {
    const { http, client } = open
    checkForm(http)
    if (!isCsrfToken(csrfOf(open, session), http.form.values.get('csrf'))) return refuseForgery()
    switch (http.form.values.get('decision')) {
      case 'allow':
        return flow.grant(open, session, 'consented')
      case 'deny': {
        const trail = { request_id: http.requestId, client_id: client.client_id, sub: session.subject }
        await audit.record({ event: 'consent.denied', ...trail })
        return flow.refuse(
          { ...open, sub: session.subject },
          new OAuthError('access_denied', 'The user denied access.'),
        )
      }
      default:
        throw new OAuthError('invalid_request', 'The form contains no decision.')
    }
  }

  const answer = (open: OpenInteraction): Promise<Reply> => {
    const { http } = open
    const to = (next: InteractionPage) => () =>
      redirect(keepChoice(http, flow.interactions.pageUrl(open.interactionId, next)))
    const elsewhere = { select: to('select'), login: to('login') }
    // A no counts, even if another tab has said yes meanwhile and nothing would be asked any more.
    const answered = (session: Session) => submit(open, session)
    return http.method === 'POST'
      ? flow.goOn(open, { ...elsewhere, consent: ({ session }) => answered(session), code: answered })
      : flow.goOn(open, {
          ...elsewhere,
          consent: (person) => show(open, person),
          code: (session) => flow.grant(open, session),
        })
  }

  return async (http) => {
    const open = await openInteraction(await getInteraction(http, flow, options), options.clients)
    return leadingBack(open.client, options.issuer, () => answer(open), open.request.locale)
  }
}
