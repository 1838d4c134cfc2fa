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

/** Reads authorization codes; consuming them is the core's. */
export interface AuthorizationCodes {
  /** The record, whether it was used or not, until it expires. Throws `Unavailable`. */
  find(code: string): Promise<AuthorizationCode | undefined>
}

/** Reads device codes; deciding and consuming them is the core's. */
export type DeviceCodes = PolledCodes<DeviceRequest>

/** Reads requests by their `auth_req_id` (OpenID CIBA Core §7.3); deciding and consuming them is the core's. */
export type BackchannelRequests = PolledCodes<BackchannelRequest>

/** Reads refresh tokens; rotating them is the core's. */
export interface RefreshTokens {
  /**
   * The grant that the token continues; undefined when it is malformed, unknown or expired. The core finds out that it
   * is revoked when it redeems it. Throws `Unavailable`.
   */
  find(token: string): Promise<Grant | undefined>
}

/** The tokens of this issuer that a plugin may be shown (RFC 8693 §3). */
export type OwnTokenKind = 'access_token' | 'id_token'

/** Verifies tokens of this issuer. */
export interface OwnTokens {
  /**
   * The claims of a token that this issuer signed, of exactly this kind, in time and not revoked, and the authorization
   * that it came from; undefined for anything else. The person whom it names has the local subject, also in a token of a client that
   * is told a pairwise one (OIDC Core §8.1). Throws `Unavailable`.
   */
  verify(
    token: string,
    kind: OwnTokenKind,
  ): Promise<{ readonly claims: JsonObject; readonly grantId: string } | undefined>
}

/** What a plugin may ask for by naming it in `needs`; it is given those alone. */
export interface Services {
  readonly clock: Clock
  readonly log: Log
  readonly issuer: string
  /** What endpoints lie under: the issuer, and its alias for mutual TLS (RFC 8705 §5) where there is one. */
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
  /** How far the clock of another may be off: `clock_tolerance_secs`. */
  readonly clockToleranceSeconds: number
  readonly clientKeys: ClientKeys
  /** Reads and verifies the certificates of clients, to the trust anchors of the configuration. */
  readonly clientCertificates: ClientCertificates
  /** Ids of client assertions, by client: each passes once (RFC 7523 §3). */
  readonly clientAssertions: EphemeralReplayGuard
  /** Checks DPoP proofs that are more than a constraint. The core claims what a client authentication method gives back. */
  readonly dpopProofs: Pick<Dpop, 'check'>
  /** How far ahead an assertion may expire: `client_assertion_max_age_secs`. */
  readonly clientAssertionMaxAgeSeconds: number
  readonly ownTokens: OwnTokens
  /** Verifies attestations of this issuer that are shown instead of a token. */
  readonly attestations: ShownAttestations
  /** What second factors keep: secrets in hashed or sealed form, approvals. An id begins with the factor's kind and a colon. */
  readonly factorRecords: RecordStore<JsonObject>
  /** What second factors accept once: steps of a one-time password, ids of tokens. The namespace is the factor's kind. */
  readonly factorClaims: ReplayGuard
  /** Values of `POST /challenge`, which evidence and proofs of attested clients contain: each passes once. */
  readonly evidenceChallenges: Pick<EvidenceChallenges, 'issue' | 'redeem'>
  /** The other second factors, for one that asks several. Complete once all plugins are created. */
  readonly secondFactors: Pick<ReadonlyMap<string, SecondFactorVerifier>, 'get'>
  /** Who was enrolled, and who was revoked by command. A status provider that needs it makes those commands work. */
  readonly principals: PrincipalRegistry
  /** Requests to services of the deployer, which may have private addresses: 2 s, 64 KiB, no redirect. */
  readonly outbound: Outbound
  /** Keys of issuers that the options of a plugin name. */
  readonly issuerKeys: IssuerKeys
  readonly signedRequests: SignedRequests
  readonly externalAccounts: ExternalAccounts
  /** Sign-ins and consents that a service of the organisation answers on the admin listener. */
  readonly handoffs: Pick<Handoffs, 'open' | 'findAnswer'>
}

export type ServiceName = keyof Services

/** What a plugin adds. Each member is optional; a name that two plugins add is fatal. */
export interface Contributions extends Contributed {
  /** Called at the stop, in reverse order of loading. */
  readonly close?: () => Promise<void> | void
}

/** The default export of a plugin. */
export interface PluginModule<Options = unknown, Need extends ServiceName = ServiceName> {
  readonly name: string
  readonly apiVersion: 1
  /** Checks `plugins[].options`: any Standard Schema, zod for instance. Absent: options are refused. */
  readonly options?: StandardSchemaV1<unknown, Options>
  readonly needs?: readonly Need[]
  create(options: Options, services: Pick<Services, Need>): Contributions | Promise<Contributions>
}

export type SignerServices = Pick<Services, 'clock' | 'log'>

/** The default export of a signer. */
export interface SignerModule<Options = unknown> {
  readonly name: string
  readonly apiVersion: 1
  /** The keys are held by this process. Of any other signer each signature is verified before it leaves. */
  readonly inProcess?: true
  readonly options?: StandardSchemaV1<unknown, Options>
  create(options: Options, services: SignerServices): SignerProvider | Promise<SignerProvider>
}

/** What a store is given beside its options. */
export interface StorageServices {
  /** All time comes from here, expiry too. */
  readonly clock: Clock
  /** What `Unavailable` is to call the store: `storage.records`. */
  readonly component: string
}

/** What all stores export, whichever role they may have. */
export interface StoreModule<Options, Backend> {
  readonly name: string
  readonly apiVersion: 1
  /** The version of the contract that it passed: `contract` of the report that `checkStorage` of `signet-idp/testing` made. */
  readonly contract: number
  /** Checks `storage.*.options`: any Standard Schema. Absent: options are refused. */
  readonly options?: StandardSchemaV1<unknown, Options>
  /** Names of the npm packages that `open` imports: a configuration is refused where one is missing. */
  readonly packages?: readonly string[]
  /**
   * Opens the store; it need not answer yet. The host disposes of what it is given. Throws `Unavailable`, and `BadOption` for an
   * option that only opening shows to be wrong.
   */
  open(options: Options, services: StorageServices): Promise<Backend>
  /** Where `open` would create a store, because nothing is there. Commands refuse to work on one that they would create. */
  findMissing?(options: Options): string | undefined
}

/** The default export of a store for either role. */
export type LastingStore<Options = unknown> = StoreModule<Options, StorageBackend> & { readonly roles?: never }

/** The default export of a store that may lose what it has acknowledged: it is refused as `storage.records`. */
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
