import type { Clock } from '../../clock.js'
import type { ConsentMethod } from '../../interaction/consent-method.js'
import type { Consent } from '../../interaction/consent.js'
import type { Interaction } from '../../interaction/interaction.js'
import type { SignInMethod } from '../../interaction/sign-in-method.js'
import type { AccountLookup, HasSubject } from '../../oauth/subjects/account.js'
import type { Pages } from '../../interaction/pages/pages.js'
import type { AttemptRecord } from '../../interaction/sign-in-attempts.js'
import type { Places } from '../../interaction/places.js'
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

/** An id_token that we signed; its time may be over (OIDC Core §3.1.2.1). `sub` and `sid` are what the client was told. */
export interface IdTokenHint {
  readonly sub: string
  readonly aud: string | readonly string[]
  /** Of the session in which it was issued. */
  readonly sid?: string | undefined
}

/** What requests of clients are checked by. */
export interface RequestRules {
  /** `aud` where no resource is asked for. */
  readonly defaultAudience: string
  readonly scopesSupported: readonly string[]
  /** What becomes of scopes that are not supported. */
  readonly unknownScopes: 'ignore' | 'refuse'
  /** Clients that are registered for `refresh_token` get one for requests without `openid`, too. */
  readonly refreshWithoutOpenid: boolean
  readonly releases: ClaimReleases
  /** What clients may ask for by `authorization_details`. */
  readonly detailsTypes: AuthorizationDetailsTypes
  /** What sign-ins may be asked to have. */
  readonly acrs: AuthenticationContexts
  /** What clients with `fapi2` must have signed. */
  readonly messageSigning: readonly MessageSigning[]
  /** Undefined unless it is an id_token of this issuer under any published key, expired or not. */
  readonly verifyIdTokenHint: (token: string) => Promise<IdTokenHint | undefined>
  /** Signs answers to clients that registered no algorithm for them. */
  readonly responseAlg: JwsAlg
  /** What answers can be signed with; they change by clock. */
  readonly responseAlgs: () => readonly JwsAlg[]
}

/** How requests reach `/authorize`. */
export interface RequestSources {
  readonly pushedRequests: PushedRequests
  /** Requests that their client has not pushed are refused (RFC 9126 §5). */
  readonly requirePushedRequests: boolean
  readonly requestObjects: RequestObjects
  /** The client that was probably meant. Only an issuer on loopback has it: who reads its error pages is a developer. */
  readonly meantClient?: ((clientId: string) => string | undefined) | undefined
}

/** How people sign in and consent. */
export interface SignInMethods {
  /** By id, in the order of the configuration. */
  readonly methods: ReadonlyMap<string, SignInMethod>
  readonly accounts: AccountLookup
  readonly isLocalSubject: HasSubject
  /** Absent: the core's own page asks. */
  readonly consentMethod?: ConsentMethod | undefined
  readonly signInAttempts: OneTimeStore<AttemptRecord>
  /** How many of them one address may have open. */
  readonly openAttempts: Places
  /** Counts guesses at second factors. */
  readonly secondFactorGuesses: AttemptLimiter
  /** How far the clock of another may be off. */
  readonly clockToleranceSeconds: number
}

/** What is kept of people who sign in. */
export interface SignInRecords {
  readonly sessions: RecordLookup<Session>
  readonly sessionIndex: RecordStore<SessionEntry>
  readonly sessionTtlSeconds: number
  readonly interactions: OneTimeStore<Interaction>
  /** How many of them one address may have open. */
  readonly openSignIns: Places
  readonly consents: RecordStore<Consent>
  /** Secrets that all replicas share. */
  readonly secrets: RecordStore<string>
  readonly revocations: RevocationStore
}

/** Where what clients are granted is recorded. */
export interface GrantRecords {
  readonly codes: OneTimeStore<AuthorizationCode>
  readonly codeTtlSeconds: number
  readonly grantIndex: GrantIndex
  readonly sessionClients: SessionClients
}

/** What nearly every endpoint that people meet takes. */
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
