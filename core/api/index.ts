/** `signet-idp`: what plugins need. */
export type { ClientCertificate } from '../certificates/client-certificate.js'
export type { Clock } from '../clock.js'
export { epochSeconds } from '../clock.js'
export type { AccountDirectory, AccountRecord, PasswordHasher } from '../interaction/account-directory.js'
export type { ConsentAttempt, ConsentMethod, ConsentRequest, ConsentResult } from '../interaction/consent-method.js'
export type { FactorEnrolment, FactorResult, FactorSetup } from '../interaction/factors/factor-enrolment.js'
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
export type { JsonObject, JsonValue } from '../json.js'
export { isObject } from '../json.js'
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
} from '../modules/contract.js'
export { definePlugin } from '../modules/contract.js'
export type { Account, AccountLookup } from '../oauth/subjects/account.js'
export type {
  AuthorizationDetail,
  AuthorizationDetailsType,
  DescribedDetail,
} from '../oauth/requests/authorization-details.js'
export type { ApprovalNotice, ApprovalNotifier } from '../oauth/ciba/notifier.js'
export type { BackchannelApproval, BackchannelRequest } from '../oauth/ciba/request.js'
export type {
  BasicCredentials,
  ClientAuthenticator,
  Detection,
  ProvenClient,
  TokenRequest,
} from '../oauth/clients/client-authenticator.js'
export type { Client } from '../oauth/clients/client.js'
export type { DeviceApproval, DeviceRequest } from '../oauth/grants/device-code.js'
export type { DpopProof } from '../oauth/dpop.js'
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
} from '../oauth/grants/grant.js'
export { defineGrant } from '../oauth/grants/grant.js'
export type { GrantedConsent } from '../oauth/requests/narrow-request.js'
export type { PolledCodes } from '../oauth/grants/poll-decision.js'
export type { Log } from '../observe/log.js'
export type { Outbound, Webhook } from '../outbound/webhook.js'
export type { AttemptPolicy } from '../storage/ports.js'
export { Unavailable } from '../unavailable.js'
