import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import type { InteractionPage } from '../../interaction/interaction.js'
import { askPlugin } from '../../oauth/grants/ask-plugin.js'
import { displayName } from '../../oauth/subjects/account.js'
import { logoOrigins } from '../../interaction/pages/client-on-page.js'
import { consentPage } from '../../interaction/pages/consent-page.js'
import type { Session } from '../../interaction/session.js'
import type {
  AuthorizationDetail,
  AuthorizationDetailsTypes,
  DescribedDetail,
} from '../../oauth/requests/authorization-details.js'
import { personalClaims } from '../../oauth/requests/claims-parameter.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { scopeToAllow } from '../../oauth/requests/scope.js'
import type { AuditLog } from '../../observe/audit.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { SignInMethods, CommonOptions } from '../authorization-flow/options.js'
import { checkForm, clientOnPage, leadingBack, refuseForgery } from '../authorization-flow/page-form.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import type { Declaration } from '../endpoint.js'
import { keepChoice, otherPersonUrl } from '../authorization-flow/other-account.js'
import type { Person } from '../authorization-flow/people.js'
import { page, redirect, type Handler, type Reply } from '../message.js'
import { createHandedOffConsent, stateOf, type HandedOffConsent, type HandedOffOptions } from './handed-off-consent.js'
import { getInteraction, openInteraction, tagClient, type OpenInteraction } from './open-interaction.js'

/**
 * GET and POST `/interaction/{id}/consent`. The interaction defines what is granted; the form only says yes or no. If
 * a plugin asks people elsewhere there is no form: GET redirects the browser there, and reads the answer when it
 * returns.
 */
export const consentEndpoint = {
  path: '/interaction/{id}/consent',
  methods: ['GET', 'POST'],
  body: 'page-form',
  errorTitle: 'sign_in_error',
  pages: [consentPage],
  limit: { byAddress: 'interaction', byRefusals: false },
} as const satisfies Declaration

type Options = HandedOffOptions &
  Pick<SignInMethods, 'consentMethod'> &
  Pick<CommonOptions, 'issuer' | 'clients' | 'pages' | 'audit'>

/** Valid only for the person who saw the page, in case another one signs in meanwhile. */
const csrfOf = ({ browserCookie, interactionId }: OpenInteraction, { sid, subject }: Session): string =>
  csrfToken(browserCookie, interactionId, `consent\n${sid}\n${subject}`)

/** A page that omits what is being approved is worse than none; the configuration may have changed meanwhile. */
const describeDetails = (
  types: AuthorizationDetailsTypes,
  details: readonly AuthorizationDetail[],
  signal: AbortSignal,
): Promise<readonly DescribedDetail[]> =>
  Promise.all(
    details.map((detail) => {
      const type = types.get(detail.type)
      if (type !== undefined)
        return askPlugin('a type of authorization_details', signal, async () => type.describe(detail, signal))
      throw new OAuthError('invalid_authorization_details', said('not_available'))
    }),
  )

const denyConsent = async (
  audit: AuditLog,
  flow: Flow,
  open: OpenInteraction,
  { subject }: Session,
): Promise<Reply> => {
  const { http, client } = open
  await audit.record({
    event: 'consent.denied',
    request_id: http.requestId,
    client_id: client.client_id,
    sub: subject,
  })
  return flow.refuse({ ...open, sub: subject }, new OAuthError('access_denied', 'The user denied access.'))
}

/** The form on our own page, and what the person decides by it. */
const createConsentForm = ({ pages, audit, detailsTypes }: Options, flow: Flow) => {
  const show = async (open: OpenInteraction, { session, account }: Person): Promise<Reply> => {
    const { client, request, interactionId, http } = open
    const { authorizationDetails } = request
    const details = authorizationDetails && (await describeDetails(detailsTypes, authorizationDetails, http.signal))
    const shown = clientOnPage(client, request.redirectUri)
    const spoken = pagesFor(pages, http, request.locale)
    const html = spoken.show(consentPage, {
      action: keepChoice(http, flow.interactions.pageUrl(interactionId, 'consent')),
      csrf: csrfOf(open, session),
      sealedClient: tagClient(open),
      client: shown,
      account: {
        name: displayName(account, session.username),
        // With a hint the client accepts this person only.
        ...(request.subject === undefined && { otherUrl: otherPersonUrl(flow, http, interactionId) }),
      },
      scopes: scopeToAllow(request),
      claims: personalClaims(request.requestedClaims),
      resources: request.resource,
      ...(details && { details }),
    })
    return { ...page(200, html, spoken.language), images: logoOrigins([shown]) }
  }

  const submit = (open: OpenInteraction, session: Session): Reply | Promise<Reply> => {
    const { values } = open.http.form
    if (!isCsrfToken(csrfOf(open, session), values.get('csrf'))) return refuseForgery()
    switch (values.get('decision')) {
      case 'allow':
        return flow.grant(open, session, 'consented')
      case 'deny':
        return denyConsent(audit, flow, open, session)
      default:
        throw new OAuthError('invalid_request', said('no_decision'))
    }
  }

  return { show, submit }
}

export const createConsentPage = (options: Options, flow: Flow): Handler => {
  const form = createConsentForm(options, flow)
  const handedOff = options.consentMethod && createHandedOffConsent(options, flow, options.consentMethod)

  const submit = async (open: OpenInteraction, session: Session): Promise<Reply> => {
    checkForm(open.http)
    // A person who is asked elsewhere has not seen our page.
    return handedOff === undefined ? form.submit(open, session) : refuseForgery()
  }

  /** The person has answered elsewhere, and the browser has returned. */
  const finish = async (elsewhere: HandedOffConsent, open: OpenInteraction, session: Session, state: string) => {
    const decision = await elsewhere.findDecision(open, session, state)
    if (decision.outcome === 'unknown') return toPage(open, 'consent')
    const reply =
      decision.outcome === 'allowed'
        ? await flow.grant({ ...open, request: decision.request }, session, 'consented')
        : await denyConsent(options.audit, flow, open, session)
    await elsewhere.forget(open, state)
    return reply
  }

  const toPage = ({ http, interactionId }: OpenInteraction, next: InteractionPage): Reply =>
    redirect(keepChoice(http, flow.interactions.pageUrl(interactionId, next)))

  /** The signed-in person that the request is for. `asked`: whether their consent is still needed. */
  const forPerson = (open: OpenInteraction, person: Person, asked: boolean): Reply | Promise<Reply> => {
    const { http } = open
    const { session } = person
    const state = stateOf(http)
    // A refusal counts even if another tab has consented meanwhile and nothing would be asked any more.
    if (handedOff !== undefined && state !== undefined) return finish(handedOff, open, session, state)
    if (http.method === 'POST') return submit(open, session)
    if (!asked) return flow.grant(open, session)
    return handedOff === undefined ? form.show(open, person) : handedOff.begin(open, session)
  }

  const answer = async (open: OpenInteraction): Promise<Reply> => {
    const step = await flow.findNext(open)
    switch (step.next) {
      case 'consent':
      case 'code':
        return forPerson(open, step.person, step.next === 'consent')
      case 'refuse':
        return flow.refuse({ ...open, sub: step.sub }, step.error)
      default:
        return toPage(open, step.next)
    }
  }

  return async (http) => {
    const open = await openInteraction(await getInteraction(http, flow, options), options.clients)
    return leadingBack(open.client, options.issuer, () => answer(open), open.request.locale)
  }
}
