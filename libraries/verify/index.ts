/**
 * `signet-idp/verify`: finds out which attested device sent a request to a service, and whose access token a request
 * to an API has. For Node.
 */
export type { Attestation, Principal } from './attestation.js'
export type { AccessToken } from './access-token.js'
export type { CertificateIdentity } from './certificate-fetch.js'
export type { ClientKey } from './client-assertion.js'
export type { Fetch } from './fetch-text.js'
export type { IntrospectionOptions } from './introspection.js'
export type { TrustedIssuer } from './key-sets.js'
export { VerificationError, type HttpAnswer, type RefusalReason } from './refusal.js'
export { memoryReplayGuard, type MemoryReplayGuardOptions, type ReplayGuard } from './replay.js'
export type { Requirements } from './requirements.js'
export {
  createResourceServer,
  type AccessTokenChecker,
  type ResourceServer,
  type ResourceServerOptions,
  type VerifiedAccessToken,
} from './resource-server.js'
export type { StatusChecker, StatusListReference } from './status-list.js'
export type { TokenRefusalReason } from './token-refusal.js'
export { createVerifier, type VerifiedRequest, type Verifier, type VerifierOptions } from './verifier.js'
export type { Workload } from './workload-identity.js'
export type { WorkloadRefusalReason } from './workload-refusal.js'
export {
  createWorkloadVerifier,
  type TrustedDomain,
  type WorkloadVerifier,
  type WorkloadVerifierOptions,
} from './workload-verifier.js'
export { forExpress } from './adapters/express.js'
export { forFastify } from './adapters/fastify.js'
export { forHttp } from './adapters/http.js'
export { forKoa } from './adapters/koa.js'
