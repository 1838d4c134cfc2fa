import { z } from 'zod'
import { allAlgorithms, findAlgorithm, isJwsAlg } from '../../jose/algorithms.js'
import type { JwsAlg } from '../../jose/jwk.js'
import { consentChoices, isClientId, securityProfiles, subjectTypes } from './client.js'
import { findOutboundFault, withoutFragment } from '../../outbound/outbound-fetch.js'
import { isPlainText } from '../../plain-text.js'
import { reportFault } from '../../report-fault.js'
import { contentEncryption, encryptionAlg } from './encryption-metadata.js'
import { certificateSubject } from './client-certificate-subject.js'
import {
  clientJwks,
  clientJwksUri,
  clientLoginUri,
  clientLogoutUri,
  clientNotificationEndpoint,
  clientRequestUris,
  clientSectorUri,
} from './client-jwks.js'

/** Registered names (RFC 7591 §2, OIDC Registration §2 and their extensions) that Signet does not support. */
export const notAvailable = new Set(['frontchannel_logout_uri'])
export const unavailable = 'not available in this version'

const text = z.string().min(1, 'must not be empty')

/**
 * A text that people or operators read (`client_name`). It must not contain characters that are invisible or look
 * like others.
 */
const label = text.refine(
  (value) => value === '' || isPlainText(value),
  'must have no invisible characters, no blanks at an end or two together, and be in Unicode normal form C',
)

const signingAlg = z.string().transform((value, context): JwsAlg => {
  if (isJwsAlg(value)) return value
  const message = /^hs\d+$|^none$/i.test(value)
    ? 'symmetric algorithms and none are refused'
    : `must be one of ${allAlgorithms.join(', ')}`
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

/** A page that Signet links to or shows. It must be https, so that nothing can be substituted on the way. */
const webPage = z.string().superRefine(reportFault((value) => findOutboundFault(withoutFragment(value))))

/**
 * 32 characters of base64url have 192 bits, which is enough for a plain hash. Fewer than 16 characters can be guessed
 * in any alphabet (RFC 6749 §10.10).
 */
export const secretLength = { least: 16, recommended: 32, most: 1024 } as const

const secret = z.preprocess(
  (value) =>
    typeof value === 'object' && value !== null && 'reveal' in value
      ? (value as { reveal(): unknown }).reveal()
      : value,
  // These are the characters that a form and a Basic header can carry (RFC 6749 appendix A).
  z
    .string()
    .regex(
      new RegExp(`^[\\x20-\\x7E]{${String(secretLength.least)},${String(secretLength.most)}}$`),
      `must be ${String(secretLength.least)} to ${String(secretLength.most)} printable ASCII characters`,
    ),
)

/** The resources of RFC 8707 §2. */
const resourceIdentifiers = z.array(
  z
    .string()
    .refine(
      (value) => URL.canParse(value) && !value.includes('#'),
      'must be an absolute URI without fragment (RFC 8707 §2)',
    ),
)

/** The members that a client may be registered with (RFC 7591 §2, OIDC Registration §2). */
export const metadataSchema = z.strictObject({
  client_id: z.string().refine(isClientId, 'must be 1 to 255 printable ASCII characters'),
  client_name: label.optional(),
  client_secret: secret.optional(),
  client_secret_expires_at: z.int().min(0).optional(),
  application_type: z.enum(['web', 'native']).default('web'),
  redirect_uris: z.array(z.string()).default([]),
  post_logout_redirect_uris: z.array(z.string()).optional(),
  grant_types: z
    .array(
      z.string().refine((name) => /^[\w-]+$/.test(name) || URL.canParse(name), 'must be a grant type name or a URN'),
    )
    .min(1, 'must name at least one grant type')
    .default(['authorization_code']),
  response_types: z.array(z.literal('code')).optional(),
  scope: z
    .string()
    .regex(
      /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/,
      'must be scope names with one blank between them',
    )
    .optional(),
  token_endpoint_auth_method: text.optional(),
  token_endpoint_auth_signing_alg: z.preprocess((value) => findAlgorithm(value) ?? value, signingAlg).optional(),
  jwks: clientJwks.optional(),
  jwks_uri: clientJwksUri.optional(),
  id_token_signed_response_alg: signingAlg.optional(),
  userinfo_signed_response_alg: signingAlg.optional(),
  introspection_signed_response_alg: signingAlg.optional(),
  authorization_signed_response_alg: signingAlg.optional(),
  id_token_encrypted_response_alg: encryptionAlg.optional(),
  id_token_encrypted_response_enc: contentEncryption.optional(),
  userinfo_encrypted_response_alg: encryptionAlg.optional(),
  userinfo_encrypted_response_enc: contentEncryption.optional(),
  introspection_encrypted_response_alg: encryptionAlg.optional(),
  introspection_encrypted_response_enc: contentEncryption.optional(),
  authorization_encrypted_response_alg: encryptionAlg.optional(),
  authorization_encrypted_response_enc: contentEncryption.optional(),
  subject_type: z.enum(subjectTypes).optional(),
  sector_identifier_uri: clientSectorUri.optional(),
  include_claims_in_id_token: z.boolean().optional(),
  consent: z.enum(consentChoices).optional(),
  default_max_age: z.int().min(0).optional(),
  default_acr_values: z.array(text).min(1).optional(),
  require_auth_time: z.boolean().optional(),
  dpop_bound_access_tokens: z.boolean().optional(),
  tls_client_auth_subject_dn: certificateSubject.tls_client_auth_subject_dn,
  tls_client_auth_san_dns: certificateSubject.tls_client_auth_san_dns,
  tls_client_auth_san_uri: certificateSubject.tls_client_auth_san_uri,
  tls_client_auth_san_ip: certificateSubject.tls_client_auth_san_ip,
  tls_client_auth_san_email: certificateSubject.tls_client_auth_san_email,
  tls_client_certificate_bound_access_tokens: z.boolean().optional(),
  require_pushed_authorization_requests: z.boolean().optional(),
  require_signed_request_object: z.boolean().optional(),
  request_object_signing_alg: signingAlg.optional(),
  request_uris: clientRequestUris.optional(),
  backchannel_logout_uri: clientLogoutUri.optional(),
  backchannel_logout_session_required: z.boolean().optional(),
  backchannel_token_delivery_mode: z.enum(['poll', 'ping'], 'must be poll or ping').optional(),
  backchannel_client_notification_endpoint: clientNotificationEndpoint.optional(),
  backchannel_authentication_request_signing_alg: signingAlg.optional(),
  authorization_details_types: z.array(text).optional(),
  contacts: z.array(label).optional(),
  logo_uri: webPage.optional(),
  client_uri: webPage.optional(),
  policy_uri: webPage.optional(),
  tos_uri: webPage.optional(),
  initiate_login_uri: clientLoginUri.optional(),
  software_id: label.optional(),
  software_version: label.optional(),
  allowed_audiences: resourceIdentifiers.default([]),
  introspection_audiences: resourceIdentifiers.optional(),
  security_profile: z.enum(securityProfiles).optional(),
  disabled: z.boolean().optional(),
  /** This member is for the deployer's own plugins. */
  metadata: z.record(z.string(), z.json()).default({}),
})

export type Metadata = z.output<typeof metadataSchema>
