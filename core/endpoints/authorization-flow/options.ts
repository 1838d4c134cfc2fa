import type { Clock } from '../../clock.js'
import type { ConsentMethod } from '../../interaction/consent-method.js'
import type { Consent } from '../../interaction/consent.js'
import type { Interaction } from '../../interaction/interaction.js'
import type { SignInMethod } from '../../interaction/sign-in-method.js'
import type { AccountLookup, HasSubject } from '../../oauth/subjects/account.js'
import type { Pages } from '../../interaction/pages/pages.js'
import type { AttemptRecord } from '../../interaction/sign-in-attempts.js'
import type { Slots } from '../../interaction/slots.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { Session, SessionEntry } from '../../interaction/session.js'
import type { AuthenticationContexts } from '../../oauth/requests/authentication-context.js'
import type { AuthorizationDetailsTypes } from '../../oauth/requests/authorization-details.js'
import type { ClientDirectory } from '../../oauth/clients/client.js'
import type { AuthorizationCode } from '../../oauth/grants/grant.js'
import type { SessionClients } from '../../oauth/back-channel/session-clients.js'
import type { GrantIndex } from '../../oauth/grants/grant-index.js'
import type { PushedRequests } from '../../oauth/requests/pushed-request.js'
import type { RequestObjects } from '../../oauth/requests/request-object.js'
import type { MessageSigning } from '../../oauth/clients/security-profile.js'
import type { Subjects } from '../../oauth/subjects/subjects.js'
import type { Log } from '../../observe/log.js'
import type { AuditLog } from '../../observe/audit.js'
import type { AttemptLimiter, OneTimeStore, RecordLookup, RecordStore, RevocationStore } from '../../storage/ports.js'
import type { ClaimReleases } from '../../tokens/claim-releases.js'
import type { TokenIssuer } from '../../tokens/issuer.js'
import type { Refusals } from '../refusals.js'

/**
 * An id_token that we signed, expired or not (OIDC Core §3.1.2.1). `sub` and `sid` are the values that the client
 * received.
 */
export interface IdTokenHint {
  readonly sub: string
  readonly aud: string | readonly string[]
  /** The session in which it was issued. */
  readonly sid?: string | undefined
}

/** The rules that requests of clients are checked against. */
export interface RequestRules {
  /** `aud` when no resource is requested. */
  readonly defaultAudience: string
  readonly scopesSupported: readonly string[]
  /** How unsupported scopes are handled. */
  readonly unknownScopes: 'ignore' | 'refuse'
  /** Whether clients registered for `refresh_token` also get one for requests without `openid`. */
  readonly refreshWithoutOpenid: boolean
  readonly releases: ClaimReleases
  /** What clients may request with `authorization_details`. */
  readonly detailsTypes: AuthorizationDetailsTypes
  /** The contexts that sign-ins can be required to meet. */
  readonly acrs: AuthenticationContexts
  /** Messages that clients with `fapi2` must sign. */
  readonly messageSigning: readonly MessageSigning[]
  /** Returns undefined unless it is an id_token of this issuer under any published key, expired or not. */
  readonly verifyIdTokenHint: (token: string) => Promise<IdTokenHint | undefined>
  /** The default algorithm of signed answers. */
  readonly responseAlg: JwsAlg
  /** Algorithms of signed answers, which change by the clock. */
  readonly responseAlgs: () => readonly JwsAlg[]
}

/** How requests reach `/authorize`. */
export interface RequestSources {
  readonly pushedRequests: PushedRequests
  /** Whether requests that were not pushed are refused (RFC 9126 §5). */
  readonly requirePushedRequests: boolean
  readonly requestObjects: RequestObjects
  /**
   * Finds the client that was probably meant. Only set for an issuer on loopback, whose error pages are read by
   * developers.
   */
  readonly meantClient?: ((clientId: string) => string | undefined) | undefined
}

/** How people sign in and consent. */
export interface SignInMethods {
  /** Keyed by id, in the order of the configuration. */
  readonly methods: ReadonlyMap<string, SignInMethod>
  readonly accounts: AccountLookup
  readonly isLocalSubject: HasSubject
  /** If absent, the core's own page asks. */
  readonly consentMethod?: ConsentMethod | undefined
  readonly signInAttempts: OneTimeStore<AttemptRecord>
  /** Limits how many of them one address may have open. */
  readonly openAttempts: Slots
  /** Counts guesses at second factors. */
  readonly secondFactorGuesses: AttemptLimiter
  /** Allowed difference to the clocks of others. */
  readonly clockToleranceSeconds: number
}

/** Records of people who sign in. */
export interface SignInRecords {
  readonly sessions: RecordLookup<Session>
  readonly sessionIndex: RecordStore<SessionEntry>
  readonly sessionTtlSeconds: number
  readonly interactions: OneTimeStore<Interaction>
  /** Limits how many of them one address may have open. */
  readonly openSignIns: Slots
  readonly consents: RecordStore<Consent>
  /** Secrets shared by all replicas. */
  readonly secrets: RecordStore<string>
  readonly revocations: RevocationStore
}

/** Records of what clients are granted. */
export interface GrantRecords {
  readonly codes: OneTimeStore<AuthorizationCode>
  readonly codeTtlSeconds: number
  readonly grantIndex: GrantIndex
  readonly sessionClients: SessionClients
}

/** Options of nearly every endpoint that people use. */
export interface CommonOptions {
  readonly issuer: string
  readonly clock: Clock
  readonly audit: AuditLog
  readonly refusals: Refusals
  readonly log: Log
  readonly pages: Pages
  readonly clients: ClientDirectory
  readonly subjects: Subjects
  readonly tokens: Pick<TokenIssuer, 'signAuthorizationResponse'>
}
