import type { InjectionToken } from 'tsyringe'
import type { Config } from '../../config/schema.js'
import type { ApiParts } from '../admin-api/api-route.js'
import type { RunningService } from '../admin-api/running-service.js'
import type { createSignInPages } from '../console/sign-in.js'
import type { ConsoleOptions } from '../console/console-handler.js'
import type { EvidenceChallenges } from '../attestation/evidence-challenges.js'
import type { PrincipalRegistry } from '../attestation/principal-registry.js'
import type { ShownAttestations } from '../attestation/shown-attestation.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import type { Clock } from '../clock.js'
import type { RateLimits } from '../endpoints/rate-limits.js'
import type { Refusals } from '../endpoints/refusals.js'
import type { Endpoint } from '../endpoints/endpoint.js'
import type { AccountDirectory, PasswordHasher } from '../interaction/account-directory.js'
import type { OperatorGuard } from '../http/operator-guard.js'
import type { OperatorParts } from '../operators/operator-parts.js'
import type { Asset } from '../interaction/pages/load-assets.js'
import type { Theme } from '../interaction/pages/theme.js'
import type { Messages } from '../interaction/languages/built-in.js'
import type { Pages } from '../interaction/pages/pages.js'
import type { AuditSignatures } from '../keys/audit-signatures.js'
import type { KeyLog } from '../keys/log/key-log.js'
import type { KeyRing } from '../keys/ports.js'
import type { AuditLog } from '../observe/audit.js'
import type { AuditReader } from '../observe/audit-search/audit-reader.js'
import type { Log } from '../observe/log.js'
import type { Tracing } from '../observe/tracing.js'
import type { ClientDirectory } from '../oauth/clients/client.js'
import type { ClientAuthentication } from '../oauth/clients/client-authentication.js'
import type { EncryptAnswer } from '../oauth/clients/encryption.js'
import type { Subjects } from '../oauth/subjects/subjects.js'
import type { CheckSector } from '../oauth/clients/check-sector.js'
import type { RegisteredClients } from '../oauth/registration/registered-clients.js'
import type { AuthorizationDetailsTypes } from '../oauth/requests/authorization-details.js'
import type { LogoutOutbox, Outbox } from '../oauth/back-channel/outbox.js'
import type { PingNotice } from '../oauth/ciba/ping.js'
import type { OutboundFetch } from '../outbound/outbound-fetch.js'
import type { RemoteKeySets } from '../outbound/remote-key-sets.js'
import type { ClientKeys } from '../oauth/clients/client-keys.js'
import type { Dpop } from '../oauth/dpop.js'
import type { GrantHandler } from '../oauth/grants/grant.js'
import type { SessionClients } from '../oauth/back-channel/session-clients.js'
import type { GrantIndex } from '../oauth/grants/grant-index.js'
import type { AccessTokenVerifier } from '../tokens/access-token-verifier.js'
import type { ClaimReleases } from '../tokens/claim-releases.js'
import type { TokenIssuer } from '../tokens/issuer.js'
import type { RevokedGrants } from '../tokens/redeem.js'
import type { SignLogoutToken } from '../tokens/logout-token.js'
import type { OwnTokenVerification } from '../tokens/verify-own-token.js'
import type { Collections } from '../collections/collections.js'
import type { Demo } from '../demo/demo.js'
import type { Services } from '../modules/contract.js'
import type { Registries } from '../modules/registries.js'
import type { StatusLists } from '../collections/status-lists.js'
import type { Stores } from '../collections/stores.js'

/** Returns what a token names. Throws when nothing is registered for it. */
export type Resolve = <T>(token: InjectionToken<T>) => T

const token = <T>(name: string): InjectionToken<T> => Symbol(name)

/** Names everything that is wired. Tokens are resolved once, at the start, and never during a request. */
export const tokens = {
  config: token<Config>('config'),
  /** Returns the configuration in force with its modules; a reload replaces it. */
  checked: token<() => CheckedConfiguration>('checked'),
  clock: token<Clock>('clock'),
  log: token<Log>('log'),
  /** What the start is given in addition to the configuration. */
  options: token<{ readonly demo?: Demo; readonly tracing?: Tracing | undefined }>('options'),
  audit: token<AuditLog>('audit'),
  /** This is undefined when the audit log is no file. */
  auditReader: token<AuditReader | undefined>('auditReader'),
  refusals: token<Refusals>('refusals'),
  stores: token<Stores>('stores'),
  collections: token<Collections>('collections'),
  clients: token<ClientDirectory>('clients'),
  registeredClients: token<RegisteredClients>('registeredClients'),
  accounts: token<AccountDirectory>('accounts'),
  revokedGrants: token<RevokedGrants>('revokedGrants'),
  passwords: token<PasswordHasher>('passwords'),
  detailsTypes: token<AuthorizationDetailsTypes>('detailsTypes'),
  outboundFetch: token<OutboundFetch>('outboundFetch'),
  /** The key sets of clients. */
  remoteKeySets: token<RemoteKeySets>('remoteKeySets'),
  checkSector: token<CheckSector>('checkSector'),
  subjects: token<Subjects>('subjects'),
  encryptAnswer: token<EncryptAnswer>('encryptAnswer'),
  clientKeys: token<ClientKeys>('clientKeys'),
  dpop: token<Dpop>('dpop'),
  logoutOutbox: token<LogoutOutbox>('logoutOutbox'),
  pingOutbox: token<Outbox<PingNotice>>('pingOutbox'),
  rateLimits: token<RateLimits>('rateLimits'),
  shownAttestations: token<ShownAttestations>('shownAttestations'),
  evidenceChallenges: token<EvidenceChallenges>('evidenceChallenges'),
  /** This is undefined without `attestation.status_list`. */
  statusLists: token<StatusLists | undefined>('statusLists'),
  /** The registry that plugins receive as `principals`. */
  principals: token<PrincipalRegistry>('principals'),
  services: token<Omit<Services, 'secondFactors'>>('services'),
  registries: token<Registries>('registries'),
  ring: token<KeyRing>('ring'),
  /** The published keys of the current ring. */
  publishedKeys: token<Pick<KeyRing, 'publishedKey'>>('publishedKeys'),
  /** The signing keys of the current ring. */
  signingKeys: token<Pick<KeyRing, 'sign' | 'algorithms'>>('signingKeys'),
  auditSignatures: token<AuditSignatures>('auditSignatures'),
  /** The writer of the key log. This is undefined without `key_log`. */
  keyLog: token<KeyLog | undefined>('keyLog'),
  /** The keys that verify ID tokens which come back as hints. */
  hintKeys: token<Pick<KeyRing, 'publishedKey'>>('hintKeys'),
  /** The settings for verifying our own tokens of every kind. */
  verification: token<OwnTokenVerification>('verification'),
  accessTokenVerifier: token<AccessTokenVerifier>('accessTokenVerifier'),
  /** The path of the assets folder, for links in pages. */
  assetsPath: token<string>('assetsPath'),
  theme: token<Theme>('theme'),
  assets: token<ReadonlyMap<string, Asset>>('assets'),
  messages: token<Messages>('messages'),
  pages: token<Pages>('pages'),
  releases: token<ClaimReleases>('releases'),
  tokenIssuer: token<TokenIssuer>('tokenIssuer'),
  signLogoutToken: token<SignLogoutToken>('signLogoutToken'),
  grantIndex: token<GrantIndex>('grantIndex'),
  sessionClients: token<SessionClients>('sessionClients'),
  /** The grants that are loaded and enabled, by `grant_type`. */
  grants: token<ReadonlyMap<string, GrantHandler>>('grants'),
  clientAuthentication: token<ClientAuthentication>('clientAuthentication'),
  endpoints: token<readonly Endpoint[]>('endpoints'),
  /** The running service as operators see it. It is registered once the service is complete. */
  running: token<RunningService>('running'),
  /** Returns what the routes of the admin API work on. */
  apiParts: token<() => ApiParts>('apiParts'),
  operators: token<OperatorParts>('operators'),
  signIn: token<ReturnType<typeof createSignInPages>>('signIn'),
  operatorGuard: token<OperatorGuard>('operatorGuard'),
  console: token<ConsoleOptions>('console'),
} as const
