import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { EvidenceChallenges } from '../attestation/evidence-challenges.js'
import type { SecondFactorVerifier } from '../attestation/ports.js'
import type { PrincipalRegistry } from '../attestation/principal-registry.js'
import type { ShownAttestations } from '../attestation/shown-attestation.js'
import type { ClientCertificates } from '../certificates/client-certificates.js'
import type { Clock } from '../clock.js'
import type { AccountDirectory, PasswordHasher } from '../interaction/account-directory.js'
import type { ExternalAccounts } from '../interaction/external-accounts.js'
import type { Handoffs } from '../interaction/handoffs.js'
import type { JsonObject } from '../json.js'
import type { PersonFactors } from '../interaction/factors/person-factors.js'
import type { SignedRequests, SignerProvider } from '../keys/ports.js'
import type { ClientKeys } from '../oauth/clients/client-keys.js'
import type { BackchannelRequest } from '../oauth/ciba/request.js'
import type { DeviceRequest } from '../oauth/grants/device-code.js'
import type { Dpop } from '../oauth/dpop.js'
import type { AuthorizationCode, Grant } from '../oauth/grants/grant.js'
import type { PolledCodes } from '../oauth/grants/poll-decision.js'
import type { IssuerKeys } from '../outbound/issuer-keys.js'
import type { Outbound } from '../outbound/webhook.js'
import type { Log } from '../observe/log.js'
import type {
  AttemptLimiter,
  EphemeralBackend,
  EphemeralReplayGuard,
  RecordStore,
  ReplayGuard,
  StorageBackend,
} from '../storage/ports.js'
import type { Contributed } from './contribution-kinds.js'

/** Reads authorization codes. Only the core consumes them. */
export interface AuthorizationCodes {
  /** The record, used or not, until it expires. Throws `Unavailable`. */
  find(code: string): Promise<AuthorizationCode | undefined>
}

/** Reads device codes. Only the core decides and consumes them. */
export type DeviceCodes = PolledCodes<DeviceRequest>

/** Reads requests by their `auth_req_id` (OpenID CIBA Core §7.3). Only the core decides and consumes them. */
export type BackchannelRequests = PolledCodes<BackchannelRequest>

/** Reads refresh tokens. Only the core rotates them. */
export interface RefreshTokens {
  /**
   * The grant that the token continues, or undefined when the token is malformed, unknown or expired. The core checks
   * for revocation when it redeems the token. Throws `Unavailable`.
   */
  find(token: string): Promise<Grant | undefined>
}

/** The kinds of this issuer's tokens that a plugin may receive (RFC 8693 §3). */
export type OwnTokenKind = 'access_token' | 'id_token'

/** Verifies tokens of this issuer. */
export interface OwnTokens {
  /**
   * The claims of a token of exactly this kind that this issuer signed, that is within its lifetime and not revoked,
   * and the authorization it came from; undefined for anything else. The person it names has the local subject, even
   * when the client's token has a pairwise one (OIDC Core §8.1). Throws `Unavailable`.
   */
  verify(
    token: string,
    kind: OwnTokenKind,
  ): Promise<{ readonly claims: JsonObject; readonly grantId: string } | undefined>
}

/** Services that a plugin can request by naming them in `needs`. It gets only those. */
export interface Services {
  readonly clock: Clock
  readonly log: Log
  readonly issuer: string
  /** The base URLs of endpoints: the issuer, and its alias for mutual TLS (RFC 8705 §5) if there is one. */
  readonly endpointBases: readonly string[]
  readonly codes: AuthorizationCodes
  readonly deviceCodes: DeviceCodes
  readonly backchannelRequests: BackchannelRequests
  readonly refreshTokens: RefreshTokens
  readonly accounts: AccountDirectory
  readonly passwords: PasswordHasher
  readonly attempts: AttemptLimiter
  /** Passkeys, one-time passwords and recovery codes of people. */
  readonly personFactors: PersonFactors
  /** Allowed difference to the clocks of others: `clock_tolerance_secs`. */
  readonly clockToleranceSeconds: number
  readonly clientKeys: ClientKeys
  /** Reads client certificates and verifies them against the configured trust anchors. */
  readonly clientCertificates: ClientCertificates
  /** Ids of client assertions by client. Each is accepted once (RFC 7523 §3). */
  readonly clientAssertions: EphemeralReplayGuard
  /**
   * Checks DPoP proofs that do more than constrain a token. The core claims what a client authentication method
   * returns.
   */
  readonly dpopProofs: Pick<Dpop, 'check'>
  /** How far ahead an assertion may expire: `client_assertion_max_age_secs`. */
  readonly clientAssertionMaxAgeSeconds: number
  readonly ownTokens: OwnTokens
  /** Verifies attestations of this issuer that are presented instead of a token. */
  readonly attestations: ShownAttestations
  /**
   * Records of second factors: secrets in hashed or encrypted form, approvals. An id starts with the factor's kind
   * and a colon.
   */
  readonly factorRecords: RecordStore<JsonObject>
  /**
   * Values that second factors accept once: steps of a one-time password, ids of tokens. The namespace is the
   * factor's kind.
   */
  readonly factorClaims: ReplayGuard
  /** Values of `POST /challenge`, contained in evidence and in proofs of attested clients. Each is accepted once. */
  readonly evidenceChallenges: Pick<EvidenceChallenges, 'issue' | 'redeem'>
  /** The other second factors, for a factor that combines several. Complete once all plugins are created. */
  readonly secondFactors: Pick<ReadonlyMap<string, SecondFactorVerifier>, 'get'>
  /**
   * Enrolled principals and those revoked by command. Those commands work only if a status provider needs this
   * service.
   */
  readonly principals: PrincipalRegistry
  /** Requests to services of the deployer, which may have private addresses. Limits: 2 s, 64 KiB, no redirect. */
  readonly outbound: Outbound
  /** Keys of issuers named in a plugin's options. */
  readonly issuerKeys: IssuerKeys
  readonly signedRequests: SignedRequests
  readonly externalAccounts: ExternalAccounts
  /** Sign-ins and consents that a service of the organisation answers through the admin listener. */
  readonly handoffs: Pick<Handoffs, 'open' | 'findAnswer'>
}

export type ServiceName = keyof Services

/** What a plugin adds. All members are optional. Two plugins that add the same name stop the start. */
export interface Contributions extends Contributed {
  /** Called at shutdown, in reverse order of loading. */
  readonly close?: () => Promise<void> | void
}

/** The default export of a plugin. */
export interface PluginModule<Options = unknown, Need extends ServiceName = ServiceName> {
  readonly name: string
  readonly apiVersion: 1
  /** Checks `plugins[].options` with any Standard Schema, for example zod. If absent, options are refused. */
  readonly options?: StandardSchemaV1<unknown, Options>
  readonly needs?: readonly Need[]
  create(options: Options, services: Pick<Services, Need>): Contributions | Promise<Contributions>
}

export type SignerServices = Pick<Services, 'clock' | 'log'>

/** The default export of a signer. */
export interface SignerModule<Options = unknown> {
  readonly name: string
  readonly apiVersion: 1
  /** Set when this process holds the keys. Every signature of any other signer is verified before it leaves. */
  readonly inProcess?: true
  readonly options?: StandardSchemaV1<unknown, Options>
  create(options: Options, services: SignerServices): SignerProvider | Promise<SignerProvider>
}

/** What a store gets in addition to its options. */
export interface StorageServices {
  /** The only source of time, also for expiry. */
  readonly clock: Clock
  /** The name of the store in `Unavailable`, for example `storage.records`. */
  readonly component: string
}

/** Exports that all stores have, whatever their role. */
export interface StoreModule<Options, Backend> {
  readonly name: string
  readonly apiVersion: 1
  /**
   * The version of the contract that the store passed: `contract` in the report of `checkStorage` from
   * `signet-idp/testing`.
   */
  readonly contract: number
  /** Checks `storage.*.options` with any Standard Schema. If absent, options are refused. */
  readonly options?: StandardSchemaV1<unknown, Options>
  /** Names of the npm packages that `open` imports: a configuration is refused where one is missing. */
  readonly packages?: readonly string[]
  /**
   * Opens the store, which need not answer yet. The host disposes of the result. Throws `Unavailable`, or `BadOption`
   * for an option that turns out wrong only on opening.
   */
  open(options: Options, services: StorageServices): Promise<Backend>
  /** Where `open` would create a new store. Commands refuse to work on a store that they would create. */
  findMissing?(options: Options): string | undefined
}

/** The default export of a store that can have either role. */
export type LastingStore<Options = unknown> = StoreModule<Options, StorageBackend> & { readonly roles?: never }

/** The default export of a store that may lose acknowledged data. It is refused as `storage.records`. */
export type EphemeralStore<Options = unknown> = StoreModule<Options, EphemeralBackend> & {
  readonly roles: readonly ['ephemeral']
}

export type StorageModule<Options = unknown> = LastingStore<Options> | EphemeralStore<Options>

/** Types a plugin's default export. */
export const definePlugin = <Options = undefined, const Need extends ServiceName = never>(
  module: PluginModule<Options, Need>,
): PluginModule<Options, Need> => module

/** Types a signer's default export. */
export const defineSigner = <Options = undefined>(module: SignerModule<Options>): SignerModule<Options> => module

export function defineStorage<Options = undefined>(module: LastingStore<Options>): LastingStore<Options>
export function defineStorage<Options = undefined>(module: EphemeralStore<Options>): EphemeralStore<Options>
/** Types a store's default export. */
export function defineStorage<Options>(module: StorageModule<Options>): StorageModule<Options> {
  return module
}
