import { z } from 'zod'
import { seconds, signingAlg } from './fields.js'
import { pem } from './sections.js'

const day = 86_400

/** What other tokens of this service and of its clients have: nothing that is signed may pass for two things. */
const takenTypes = new Set(
  'jwt jose at+jwt userinfo+jwt token-introspection+jwt logout+jwt dpop+jwt enrol-proof+jws device-signature+jwt approval+jwt evidence-proof+jws client-authentication+jwt oauth-client-attestation+jwt oauth-client-attestation-pop+jwt statuslist+jwt wit+jwt wpt+jwt'.split(
    ' ',
  ),
)

/** A media type without `application/` (RFC 7515 §4.1.9). */
const typ = z
  .string()
  .regex(/^[\w!#$&^.+-]{1,100}$/, 'must be a media type without application/, such as device-attestation+jwt')
  .refine((value) => !takenTypes.has(value.toLowerCase()), 'is the type of another kind of token')

const attributeName = z
  .string()
  .min(1, 'must not be empty')
  .refine((name) => name !== 'status', 'is set only by this service')

/** Of which client a principal is an instance (draft-ietf-oauth-attestation-based-client-auth). */
const clientAttestation = z.strictObject({
  client_id: z.string().regex(/^[\x20-\x7E]{1,255}$/, 'must be 1 to 255 printable ASCII characters'),
  principal_type: z.enum(['device', 'service']).optional(),
  subjects: z.array(z.string().min(1)).min(1).optional(),
})

/** A workload identifier: SPIFFE ID §2, draft-ietf-wimse-identifier. Names of principals are whole segments of its path. */
const workloadIdentifier = z
  .string()
  .max(1024, 'must be at most 1024 characters')
  .regex(
    /^(?:spiffe|wimse):\/\/[a-z0-9._-]{1,255}(?:\/(?:\{subject\}|\{principal_id\}|(?!\.{1,2}(?:\/|$))[\w.-]+))+$/,
    'must be a URI of spiffe or wimse with {subject} and {principal_id} as whole segments, such as spiffe://bank.example/{subject}/{principal_id}',
  )
  .refine(
    (template) => template.includes('{'),
    'must have {principal_id} or {subject}: services need names of their own',
  )

/** The section `attestation` (docs/design/decisions.md#8-attestation). Without the section nothing of the ceremony exists. */
export const attestation = z
  .strictObject({
    attestation_ttl_secs: seconds(day, { max: 30 * day }),
    attestation_reissue_after_secs: seconds(day / 2),
    // A challenge is for one round trip; a long one is time to relay it.
    challenge_ttl_secs: seconds(300, { max: 3600 }),
    max_continuity_secs: seconds(90 * day),
    // For devices that were away: what has expired proves nothing to anybody else.
    reissue_grace_secs: seconds(0, { min: 0, max: 30 * day }),
    signing_alg: signingAlg.default('ES256'),
    typ: typ.default('device-attestation+jwt'),
    /** Absent: any name but `status`. */
    attributes: z.strictObject({ allow: z.array(attributeName) }).optional(),
    require_audience_in_proof: z.boolean().default(false),
    /** Absent: attestations have no `status`, and verifiers learn of a revocation when the attestation expires. */
    status_list: z.strictObject({ ttl_secs: seconds(300, { min: 10, max: day }) }).optional(),
    /** The types of principals that cannot enrol without evidence that the key is in hardware. */
    require_evidence: z.array(z.enum(['device', 'service'])).default([]),
    /** Absent: no principal is an instance of a client. The first that fits counts. */
    client_attestations: z.array(clientAttestation).min(1).max(1000).optional(),
    /** Of the keys that sign client attestations: each its own first. */
    client_attestation_certificates: z
      .array(pem(/-----BEGIN CERTIFICATE-----/, 'a certificate chain'))
      .max(16)
      .default([]),
    /** Absent: no workload identity tokens, and no trust bundle. */
    workload_identity: z.strictObject({ identifier: workloadIdentifier }).optional(),
  })
  .refine((section) => section.attestation_reissue_after_secs < section.attestation_ttl_secs, {
    path: ['attestation_reissue_after_secs'],
    message: 'must be less than attestation_ttl_secs: an attestation is renewed while it is valid',
  })
  .refine((section) => section.attestation_ttl_secs <= section.max_continuity_secs, {
    path: ['max_continuity_secs'],
    message: 'must be at least attestation_ttl_secs',
  })
  .optional()

const perMinute = (fallback: number, most = 1_000_000) => z.int().min(1).max(most).default(fallback)

const openAtOnce = (fallback: number) => z.int().min(1).max(1_000_000).default(fallback)

/** More than any machine serves. */
const most = 100_000_000

/** Of one IPv4 address, or one /64 of IPv6, and of one client that has authenticated. */
const requests = (address: number, client: number) =>
  z
    .strictObject({ address_per_minute: perMinute(address, most), client_per_minute: perMinute(client, most) })
    .prefault({})

/** Of one address alone. */
const ofAddress = (address: number) => z.strictObject({ address_per_minute: perMinute(address, most) }).prefault({})

/** How guesses at a password are slowed down is an option of the login plugin. */
export const rateLimits = z
  .strictObject({
    token: requests(60_000, 60_000),
    introspect: requests(600_000, 600_000),
    userinfo: ofAddress(60_000),
    revoke: ofAddress(6000),
    authorize: z.strictObject({ address_per_minute: perMinute(300, most), address_open: openAtOnce(300) }).prefault({}),
    par: z
      .strictObject({
        address_per_minute: perMinute(60_000, most),
        client_per_minute: perMinute(60_000, most),
        address_open: openAtOnce(300),
      })
      .prefault({}),
    register: z.strictObject({ address_per_minute: perMinute(120, most), address_open: openAtOnce(1000) }).prefault({}),
    interaction: ofAddress(3000),
    device_authorization: z
      .strictObject({ address_per_minute: perMinute(600, most), address_open: openAtOnce(200) })
      .prefault({}),
    device_verify: ofAddress(600),
    bc_authorize: requests(6000, 600),
    approvals: ofAddress(6000),
    documents: ofAddress(600_000),
    refused: z
      .strictObject({ address_per_minute: perMinute(6000, most), address_chains_per_minute: perMinute(300, most) })
      .prefault({}),
    attestation: z
      .strictObject({
        address_per_minute: perMinute(600),
        key_per_minute: perMinute(30),
        subject_per_minute: perMinute(60),
        principal_free: z.int().min(1).max(1000).default(10),
      })
      .prefault({}),
  })
  .prefault({})
