/** The door: all that plugins, signers and adapters of stores may import. */
export type {
  AttestationStatusProvider,
  EnrolmentContext,
  EvidenceAccepted,
  EvidenceContext,
  EvidenceDenied,
  EvidenceVerifier,
  IssuedFactor,
  Principal,
  PrincipalType,
  SecondFactorAccepted,
  SecondFactorDenied,
  SecondFactorProof,
  SecondFactorVerifier,
  StatusQuestion,
  WaitingEnrolment,
} from '../attestation/ports.js'
export type { ReadAttestation } from '../attestation/read-attestation.js'
export type { ShownAttestations } from '../attestation/shown-attestation.js'
export { findEvidenceLevelFault } from '../attestation/evidence-claims.js'
export { evidenceStatement } from '../../libraries/wire/evidence.js'
export { principalDigest } from '../attestation/principal-digest.js'
export type { Enrolment, PrincipalRegistry, Revocation, PrincipalStatus } from '../attestation/principal-registry.js'
export type { CertificateChains, CertificateChainsOptions, TrustedChain } from '../certificates/certificate-chains.js'
export {
  createCertificateChains,
  findCertificateKey,
  findCertificatesFault,
  isForKey,
  readX5c,
} from '../certificates/certificate-chains.js'
export type { ClientCertificate } from '../certificates/client-certificate.js'
export type { ClientCertificates } from '../certificates/client-certificates.js'
export type { DistinguishedName, NameAttribute } from '../certificates/distinguished-name.js'
export type { ReadCertificate } from '../certificates/read-certificate.js'
export type { CertificateSubject } from '../certificates/subject.js'
export { isForSubject } from '../certificates/subject.js'
export type { ApprovalNotice, ApprovalNotifier } from '../oauth/ciba/notifier.js'
export type { Clock } from '../clock.js'
export { epochSeconds, isoTime } from '../clock.js'
export { until, withDeadline } from '../deadline.js'
export type {
  AuthorizationCodes,
  BackchannelRequests,
  Contributions,
  DeviceCodes,
  OwnTokenKind,
  OwnTokens,
  PluginModule,
  RefreshTokens,
  ServiceName,
  Services,
  SignerModule,
  SignerServices,
  StorageModule,
  StorageServices,
} from '../modules/contract.js'
export { definePlugin, defineSigner, defineStorage } from '../modules/contract.js'
export type { AccountDirectory, AccountRecord, PasswordHasher } from '../interaction/account-directory.js'
export type { ExternalAccounts } from '../interaction/external-accounts.js'
export { addressBucket } from '../address-bucket.js'
export { canonicalUsername } from '../interaction/username.js'
export { findPasswordFault } from '../interaction/password-strength.js'
export type { ConsentAttempt, ConsentMethod, ConsentRequest, ConsentResult } from '../interaction/consent-method.js'
export type { GrantedConsent } from '../oauth/narrow-request.js'
export type {
  PasswordChange,
  PasswordChangeRequest,
  PasswordDecision,
  PasswordReset,
} from '../interaction/password-change.js'
export type {
  Answer,
  LoginOrigin,
  PassedMethods,
  Prompt,
  SignInAttempt,
  SignInMethod,
  SignInRequest,
  SignInResult,
} from '../interaction/sign-in-method.js'
export type {
  FactorEnrolment,
  FactorResult,
  FactorSetup,
  PasskeyEnrolment,
  TotpEnrolment,
} from '../interaction/factors/factor-enrolment.js'
export type { Passkey, PersonFactor, RecoveryCodes, TotpFactor } from '../interaction/factors/person-factor.js'
export type { OwnedPasskey, PersonFactors } from '../interaction/factors/person-factors.js'
export type { TotpAlgorithm, TotpForm } from '../interaction/factors/totp/one-time-password.js'
export { otpauthUri, stepSeconds, toBase32, totpAlgorithms } from '../interaction/factors/totp/one-time-password.js'
export { seal, unseal } from '../interaction/factors/totp/sealed-secret.js'
export type { StoredSecret } from '../interaction/factors/totp/stored-secret.js'
export { findStoredStep, sealSecret } from '../interaction/factors/totp/stored-secret.js'
export { userHandleOf } from '../interaction/factors/person-factors.js'
export type { JsonObject, JsonValue } from '../json.js'
export { isObject } from '../json.js'
export { toPlainText } from '../plain-text.js'
export type { AlgorithmRow, KeyType, KeyTypeRow } from '../jose/algorithms.js'
export { algorithms, findAlgorithm, isJwsAlg, keyInput, keyTypes, longestSignature } from '../jose/algorithms.js'
export type { TimeRules } from '../jose/claim-times.js'
export { findTimeFault, isJti, isNumericDate } from '../jose/claim-times.js'
export type { CompactJws } from '../jose/compact-jws.js'
export { parseCompactJws } from '../jose/compact-jws.js'
export type { JwsAlg, PublicJwk, VerificationKey } from '../jose/jwk.js'
export type { HeaderRules } from '../jose/jwt-header.js'
export { readJwtHeader } from '../jose/jwt-header.js'
export { isOfType } from '../../libraries/wire/media-type.js'
export { signatureLength } from '../jose/jwk.js'
export type {
  KeyPurpose,
  RequestPurpose,
  SignatureTrace,
  SignedRequests,
  Signer,
  SignerProvider,
} from '../keys/ports.js'
export { KeyRefused } from '../keys/ports.js'
export type { ProofKey } from '../jose/proof-keys.js'
export { createProofKeys } from '../jose/proof-keys.js'
export type { GuardedKey } from '../jose/public-key-guard.js'
export { BadJwk, checkPublicJwk, findJwkFault } from '../jose/public-key-guard.js'
export type { TurnQueue } from '../jose/turn-queue.js'
export { createTurnQueue } from '../jose/turn-queue.js'
export { isSignedByAny, verifySignature } from '../jose/verify-signature.js'
export type { Account, AccountLookup } from '../oauth/account.js'
export type { AuthorizationDetail, AuthorizationDetailsType, DescribedDetail } from '../oauth/authorization-details.js'
export type { Client } from '../oauth/client.js'
export { isPublicClient } from '../oauth/client.js'
export { acceptedAlgorithms, isFapi } from '../oauth/security-profile.js'
export type {
  BasicCredentials,
  ClientAuthenticator,
  Detection,
  ProvenClient,
  TokenRequest,
} from '../oauth/client-authenticator.js'
export { detectByCertificate, findNamedClient } from '../oauth/client-authenticator.js'
export type { WantedKey } from '../jose/key-set.js'
export type { ClientKeys } from '../oauth/client-keys.js'
export type { IssuerKeys, KeyIssuer } from '../outbound/issuer-keys.js'
export type { BackchannelApproval, BackchannelRequest } from '../oauth/ciba/request.js'
export type { DeviceApproval, DeviceRequest } from '../oauth/device-code.js'
export type { Dpop, DpopProof, PresentedProof } from '../oauth/dpop.js'
export type { ErrorCode, ErrorDetails } from '../oauth/errors.js'
export { OAuthError } from '../oauth/errors.js'
export type {
  Actor,
  Authentication,
  AuthorizationCode,
  Grant,
  GrantDecision,
  GrantHandler,
  GrantRequest,
  PermittedActor,
  Redeemable,
  RequestedClaims,
  SenderConstraint,
} from '../oauth/grant.js'
export { accessTokenType, defineGrant } from '../oauth/grant.js'
export type { PolledCodes, PolledParameter } from '../oauth/poll-decision.js'
export { decidePoll } from '../oauth/poll-decision.js'
export { personalScopes } from '../oauth/scope.js'
export type { OutboundAnswer, OutboundBody, OutboundFetch, OutboundRequest } from '../outbound/outbound-fetch.js'
export { findOutboundFault } from '../outbound/outbound-fetch.js'
export { createProxyAgent } from '../outbound/proxy.js'
export type { Outbound, Webhook } from '../outbound/webhook.js'
export { findWebhookSecretFault } from '../outbound/webhook.js'
export type { Log } from '../observe/log.js'
export type { DeviceCodeStep, StoredDeviceCode } from '../storage/device-codes.js'
export { keptSeconds, nextDecision, nextPoll, nextRedemption, viewDeviceCode } from '../storage/device-codes.js'
export type {
  AttemptLimiter,
  AttemptPolicy,
  CounterDecision,
  CounterStep,
  CounterStore,
  DeviceCode,
  DeviceCodeState,
  DeviceCodeStore,
  DevicePoll,
  EphemeralBackend,
  EphemeralReplayGuard,
  OneTimeStore,
  RecordLookup,
  RecordDecision,
  RecordStore,
  Redemption,
  RefreshFamily,
  RefreshFamilyStore,
  ReplayGuard,
  RevocationStore,
  Rotation,
  StorageBackend,
  StorageSchema,
  StoreRoom,
} from '../storage/ports.js'
export { reportFault } from '../report-fault.js'
export { Unavailable } from '../unavailable.js'
