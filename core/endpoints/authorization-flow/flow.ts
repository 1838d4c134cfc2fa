import { epochSeconds } from '../../clock.js'
import { createConsents } from '../../interaction/consent.js'
import { createCookies, type Cookies } from '../../interaction/cookies.js'
import { createInteractions, type Interactions } from '../../interaction/interaction.js'
import { createKnownBrowsers, type KnownBrowsers } from '../../interaction/known-browsers.js'
import { createSessions, type Session, type Sessions } from '../../interaction/session.js'
import { auditIgnored } from '../../oauth/requests/scope.js'
import type { AnswerTarget, AuthorizationRequest } from '../../oauth/requests/authorization-request.js'
import { isOpenlyRegistered, type Client } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import type { AuthorizationCode } from '../../oauth/grants/grant.js'
import { hashOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import { isFapi } from '../../oauth/clients/security-profile.js'
import { Unavailable } from '../../unavailable.js'
import type { EndpointRequest, Reply } from '../message.js'
import { createAnswers, type Recipient } from './answer.js'
import { codeRecord } from './code-record.js'
import { decide, isConsentRemembered, type Situation } from './decide.js'
import type {
  GrantRecords,
  RequestRules,
  RequestSources,
  SignInMethods,
  SignInRecords,
  CommonOptions,
} from './options.js'
import { createPeople, isHinted, type People, type Person } from './people.js'

/** A checked request and its progress. */
export interface AuthorizationContext {
  readonly http: EndpointRequest
  readonly client: Client
  readonly request: AuthorizationRequest
  /** Undefined before an interaction has started. */
  readonly interactionId?: string
}

/** What comes next for a request: a page, its code, or a refusal to the client. */
export type NextStep =
  | { readonly next: 'select' }
  /** `person` is the one who must sign in again. */
  | { readonly next: 'login'; readonly person: Person | undefined }
  | { readonly next: 'consent' | 'code'; readonly person: Person }
  | { readonly next: 'refuse'; readonly sub: string | undefined; readonly error: OAuthError }

/** What `/authorize` and the pages of an interaction share. Everything throws `Unavailable`. */
export interface Flow extends People {
  readonly cookies: Cookies
  readonly sessions: Sessions
  readonly knownBrowsers: KnownBrowsers
  readonly interactions: Interactions
  /** Determines the next step without changing anything; the caller takes it. */
  findNext(context: AuthorizationContext): Promise<NextStep>
  /** Issues the code, once per interaction. `consented`: the person has just allowed it. */
  grant(context: AuthorizationContext, session: Session, consented?: 'consented'): Promise<Reply>
  /**
   * Whether the browser may go to the client without a question. Anyone can register a client that is nothing but an
   * address (RFC 9700 §4.11.2), so one of these people, by default the current one, must have consented to it before.
   */
  mayLeave(http: EndpointRequest, client: Client, subjects?: readonly string[]): Promise<boolean>
  /** Refuses the client's request, once per interaction. */
  refuse(refused: RefusedAuthorization, error: OAuthError): Promise<Reply>
}

/** What is needed to answer a refused request. */
export interface RefusedAuthorization extends Recipient {
  readonly interactionId?: string
  /** The signed-in person. */
  readonly sub?: string | undefined
}

/** Seconds. */
const longestFapiCode = 60

export const ignoreOutage = (error: unknown): void => {
  if (!(error instanceof Unavailable)) throw error
}

export const refuseUsed = (): never => {
  throw new OAuthError('invalid_request', said('sign_in_used'))
}

/** Also for a browser that comes back from elsewhere without having been there. */
export const refuseOver = (): never => {
  throw new OAuthError('invalid_request', said('sign_in_over'))
}

export type FlowOptions = SignInRecords &
  GrantRecords &
  Omit<CommonOptions, 'log' | 'clients'> &
  Pick<RequestRules, 'acrs' | 'defaultAudience' | 'responseAlg' | 'responseAlgs'> &
  Pick<RequestSources, 'pushedRequests'> &
  Pick<SignInMethods, 'accounts'>

export const createFlow = (options: FlowOptions): Flow => {
  const { issuer } = options
  const cookies = createCookies(issuer)
  const sessions = createSessions({
    store: options.sessions,
    index: options.sessionIndex,
    cookies,
    ttlSeconds: options.sessionTtlSeconds,
  })
  const knownBrowsers = createKnownBrowsers({ secrets: options.secrets, cookies })
  const interactions = createInteractions({ store: options.interactions, cookies, issuer, slots: options.openSignIns })
  const consents = createConsents(options.consents)
  const people = createPeople({ ...options, cookies, sessions })
  const parts = { people, consents, interactions }
  const findNext = createFindNext(options, parts)
  return { ...people, cookies, sessions, knownBrowsers, interactions, findNext, ...createEnds(options, parts) }
}

interface FlowParts {
  readonly people: People
  readonly consents: ReturnType<typeof createConsents>
  readonly interactions: Interactions
}

const createFindNext = ({ clock, acrs, subjects }: FlowOptions, { people, consents }: FlowParts): Flow['findNext'] => {
  /** Other people that the viewer of a page may choose. Browsers with one person skip the query. */
  const findOthers = async (
    { http, request: { prompt, subject, loginHint } }: AuthorizationContext,
    person: Person | undefined,
  ): Promise<Situation['others']> => {
    if (prompt.includes('none') || subject !== undefined || people.sessionsOf(http).others.length === 0)
      return undefined
    if (person !== undefined && (loginHint === undefined || isHinted(loginHint, person))) return undefined
    const everybody = await people.everybody(http)
    const others = everybody.filter(({ session }) => session.subject !== person?.session.subject)
    if (others.length === 0) return undefined
    return loginHint !== undefined && others.some((other) => isHinted(loginHint, other)) ? 'hinted' : 'some'
  }

  const findStepOf = async (
    context: AuthorizationContext,
    person: Person | undefined,
    isChosen: boolean,
  ): Promise<NextStep> => {
    const { client, request, interactionId } = context
    const session = person?.session
    const remembered =
      session !== undefined && isConsentRemembered(client, request) && (await consents.covers(session.subject, request))
    const others = await findOthers(context, person)
    const next = decide({
      ...{ request, client, session, isChosen, others, subjects, acrs, remembered, interactionId },
      now: epochSeconds(clock),
    })
    if (next === 'select') return { next }
    return next === 'login' || person === undefined ? { next: 'login', person } : { next, person }
  }

  return async (context) => {
    const { person, isChosen } = await people.personFor(context)
    try {
      return await findStepOf(context, person, isChosen)
    } catch (error) {
      if (error instanceof OAuthError) return { next: 'refuse', sub: person?.session.subject, error }
      throw error
    }
  }
}

/** Ends a request with a code or a refusal. */
const createEnds = (
  options: FlowOptions,
  { people, consents, interactions }: FlowParts,
): Pick<Flow, 'grant' | 'refuse' | 'mayLeave'> => {
  const { audit, codes, grantIndex, sessionClients } = options
  const answers = createAnswers(options)

  /** An interaction and a pushed request each get at most one answer. */
  const redeem = async ({ pushed }: AnswerTarget, interactionId: string | undefined): Promise<void> => {
    if (pushed !== undefined) {
      await options.pushedRequests.use(pushed)
      // The only answer was given. A remaining interaction expires by itself and cannot have another.
      if (interactionId !== undefined) await interactions.redeem(interactionId).catch(ignoreOutage)
      return
    }
    if (interactionId !== undefined && !(await interactions.redeem(interactionId))) refuseUsed()
  }

  const grant: Flow['grant'] = async (context, session, consented) => {
    const { http, client, request, interactionId } = context
    const code = newOpaqueToken()
    const record = codeRecord(request, session, options)
    // Stored before the interaction is redeemed, so that an outage of this store does not cost the other's record.
    // The loser of a race never learns the code.
    await Promise.all([
      codes.put(hashOpaqueToken(code), record, codeTtlOf(client, options.codeTtlSeconds)),
      grantIndex.add(record),
      sessionClients.add(client, record),
    ])
    let reply: Reply
    try {
      reply = await answers.granted(context, code)
      await redeem(request, interactionId)
    } catch (error) {
      await grantIndex.remove(record)
      throw error
    }
    if (consented) await consents.remember(session.subject, request)
    const auditContext = { request_id: http.requestId, ...describeGrant(record) }
    await audit.record(...(consented ? [{ event: 'consent.given', ...auditContext } as const] : []), {
      event: 'authorization.granted',
      ...auditContext,
      ...auditIgnored(request.ignoredScope),
      ...(client.consent === 'implicit' && !consented && { consent: 'implicit' }),
    })
    return reply
  }

  const mayLeave: Flow['mayLeave'] = async (http, client, subjects) => {
    if (!isOpenlyRegistered(client)) return true
    // Frames and scripts do not navigate the person anywhere.
    const destination = http.header('sec-fetch-dest')
    if (destination !== undefined && destination !== 'document') return true
    const known = subjects ?? [(await people.signedIn(http))?.session.subject].filter((one) => one !== undefined)
    for (const subject of known) if ((await consents.findScope(subject, client.client_id)).length > 0) return true
    return false
  }

  const refuse: Flow['refuse'] = async (refused, error) => {
    const { http, client, request, interactionId, sub } = refused
    // A person who was asked on a page of ours has read there what the client is.
    const isAsked = interactionId !== undefined
    const isFree = isAsked || (await mayLeave(http, client, sub === undefined ? undefined : [sub]))
    const reply = await answers.refused(refused, error, isFree ? 'at once' : 'asked')
    await redeem(request, interactionId)
    const claimedClientId = request.clientId
    await options.refusals.record(http, { event: 'authorization.refused', why: error, claimedClientId, sub })
    return reply
  }

  return { grant, refuse, mayLeave }
}

/** FAPI 2.0 Security Profile §5.3.2.1. */
const codeTtlOf = (client: Client, configured: number): number =>
  isFapi(client) ? Math.min(configured, longestFapiCode) : configured

/** What the audit log records of a grant. */
const describeGrant = (record: AuthorizationCode) => ({
  client_id: record.clientId,
  sub: record.subject,
  grant_id: record.grantId,
  scope: record.scope.join(' '),
  resource: record.resource,
  authorization_details_types: record.authorizationDetails?.map(({ type }) => type),
})
