import type { ConsentMethod, ConsentRequest } from '../../interaction/consent-method.js'
import { createConsents } from '../../interaction/consent.js'
import type { Session } from '../../interaction/session.js'
import { createSignInAttempts } from '../../interaction/sign-in-attempts.js'
import type { AuthorizationRequest } from '../../oauth/requests/authorization-request.js'
import { askPlugin } from '../../oauth/grants/ask-plugin.js'
import { personalClaims } from '../../oauth/requests/claims-parameter.js'
import { isOpenlyRegistered } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { narrowRequest } from '../../oauth/requests/narrow-request.js'
import { scopeToAllow } from '../../oauth/requests/scope.js'
import { newOpaqueToken } from '../../opaque-token.js'
import { withQuery } from '../authorization-flow/with-query.js'
import { ignoreOutage, refuseOver, refuseUsed, type Flow } from '../authorization-flow/flow.js'
import type { RequestRules, SignInMethods, SignInRecords, CommonOptions } from '../authorization-flow/options.js'
import { keepChoice } from '../authorization-flow/other-account.js'
import { redirect, type EndpointRequest, type Reply } from '../message.js'
import { tagClient, type OpenInteraction } from './open-interaction.js'

export type Decision =
  /** The part of the request that the person has allowed. */
  | { readonly outcome: 'allowed'; readonly request: AuthorizationRequest }
  | { readonly outcome: 'denied' }
  /** The answer is not this person's in this browser, or has expired, so the person must be asked again. */
  | { readonly outcome: 'unknown' }

export type HandedOffOptions = Pick<SignInMethods, 'signInAttempts' | 'openAttempts'> &
  Pick<SignInRecords, 'consents'> &
  Pick<RequestRules, 'detailsTypes' | 'defaultAudience'> &
  Pick<CommonOptions, 'clock' | 'log' | 'refusals'>

/** Asks people for consent elsewhere. Everything throws `OAuthError`, `Unavailable`. */
export const createHandedOffConsent = (options: HandedOffOptions, flow: Flow, method: ConsentMethod) => {
  const { log, detailsTypes: types, defaultAudience, refusals } = options
  const attempts = createSignInAttempts(options.signInAttempts, options.openAttempts)
  const consents = createConsents(options.consents)
  // No sign-in method has such an id, so an attempt at one cannot pass for the other.
  const attemptMethod = `consent:${method.id}`

  /** Whatever the method does, the page reports an outage, and the person can try again: nothing is used up. */
  const run = async <T>({ http }: OpenInteraction, work: () => Promise<T>): Promise<T> => {
    try {
      return await askPlugin('the consent method', http.signal, work)
    } catch (error) {
      if (error instanceof OAuthError) throw error
      log.error('The consent method failed', { request_id: http.requestId, method: method.id }, error)
      throw new OAuthError('temporarily_unavailable', said('unavailable'), {
        headers: { 'Retry-After': '3' },
        cause: error,
      })
    }
  }

  const describe = async ({ client, request }: OpenInteraction, { subject }: Session): Promise<ConsentRequest> => ({
    clientId: client.client_id,
    ...(client.client_name !== undefined && { clientName: client.client_name }),
    ...(isOpenlyRegistered(client) && { isUnchecked: true }),
    scope: scopeToAllow(request),
    claims: personalClaims(request.requestedClaims),
    resource: request.resource,
    authorizationDetails: request.authorizationDetails ?? [],
    grantedScope: await consents.findScope(subject, client.client_id),
    ...(request.prompt.length > 0 && { prompt: request.prompt.join(' ') }),
    uiLocales: request.locale?.split(' ') ?? [],
  })

  const redeem = ({ interactionId, browserCookie }: OpenInteraction, state: string) =>
    attempts.redeem(state, { browserCookie, method: attemptMethod, interactionId })

  return {
    /** Redirects the browser to where the person is asked. */
    async begin(open: OpenInteraction, session: Session): Promise<Reply> {
      const { http, interactionId, browserCookie } = open
      const id = newOpaqueToken()
      const { sid, subject } = session
      const request = await describe(open, session)
      const page = keepChoice(http, flow.interactions.pageUrl(interactionId, 'consent'))
      const finishUrl = withQuery(page, { state: id, client: tagClient(open) })
      const url = await run(open, async () =>
        method.begin({ id, interactionId, subject, finishUrl, request, signal: http.signal }),
      )
      const attempt = {
        ...{ method: attemptMethod, interactionId, challenge: id, begun: options.clock() },
        prompt: { kind: 'redirect', url } as const,
        kept: { sid, subject },
      }
      await attempts.open(id, attempt, browserCookie, http.address)
      return redirect(url)
    },

    /**
     * The person's answer. Uses nothing up, because the interaction is answered only once. Throws `consent_required`
     * before there is an answer.
     */
    async findDecision(open: OpenInteraction, { sid, subject }: Session, state: string): Promise<Decision> {
      const { http, client, interactionId, browserCookie } = open
      const attempt = await attempts.find(state, browserCookie)
      if (attempt === undefined && (await redeem(open, state)).outcome === 'used') return refuseUsed()
      // Valid only for the person who was asked, in case another one signs in meanwhile.
      const isOwn = attempt?.interactionId === interactionId && attempt.method === attemptMethod
      if (!isOwn || attempt.kept?.['sid'] !== sid || attempt.kept['subject'] !== subject) return { outcome: 'unknown' }
      const query = Object.fromEntries(http.query.values)
      const result = await run(open, async () => method.finish({ id: state, signal: http.signal }, query))
      if (result.outcome === 'allowed') {
        const rules = { client, types, defaultAudience, signal: http.signal }
        return { outcome: 'allowed', request: await narrowRequest(open.request, result, rules) }
      }
      if (result.outcome === 'denied') return result
      if (result.outcome === 'refused') {
        await refusals.record(http, { event: 'authorization.refused', why: result.why, client, sub: subject })
        return refuseOver()
      }
      // A pending or unknown answer is not consent.
      throw new OAuthError('consent_required', said('no_answer_yet'))
    },

    /** Releases what an answered question occupied. */
    async forget(open: OpenInteraction, state: string): Promise<void> {
      // It also expires by itself.
      await redeem(open, state).catch(ignoreOutage)
    },
  }
}

export type HandedOffConsent = ReturnType<typeof createHandedOffConsent>

/** The answer that an address refers to. */
export const stateOf = ({ method, query }: EndpointRequest): string | undefined =>
  method === 'GET' ? query.values.get('state') : undefined
