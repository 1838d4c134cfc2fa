import { z } from 'zod'
import { seconds, signingAlg } from './fields.js'
import { pem } from './sections.js'

const day = 86_400

/** Types of other tokens of this service and its clients, so that no signature can pass for two kinds of token. */
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

/** Which client a principal is an instance of (draft-ietf-oauth-attestation-based-client-auth). */
const clientAttestation = z.strictObject({
  client_id: z
    .string()
    .regex(/^[\x20-\x7E]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
    .describe('The client of which the principal is an instance.'),
  principal_type: z.enum(['device', 'service']).optional().describe('Principals of this type alone. Default: both.'),
  subjects: z.array(z.string().min(1)).min(1).optional().describe('Principals of these subjects alone. Default: all.'),
})

/** A workload identifier: SPIFFE ID §2, draft-ietf-wimse-identifier. Names of principals fill whole path segments. */
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

/** The section `attestation` (docs/design/decisions.md#8-attestation). Without it, the ceremony is not available. */
export const attestation = z
  .strictObject({
    attestation_ttl_secs: seconds(day, { max: 30 * day }).describe('Validity of an attestation: `expires_in`.'),
    attestation_reissue_after_secs: seconds(day / 2).describe(
      'When a device should renew: `reissue_after`. Less than the validity.',
    ),
    // A challenge covers one round trip; a long lifetime would give time to relay it.
    challenge_ttl_secs: seconds(300, { max: 3600 }).describe(
      'Validity of challenges, and of the values of `/challenge`.',
    ),
    max_continuity_secs: seconds(90 * day).describe(
      'For this time after a full enrolment it can be renewed without a second factor.',
    ),
    // For devices that were away. An expired attestation proves nothing to anyone else.
    reissue_grace_secs: seconds(0, { min: 0, max: 30 * day }).describe(
      'For this time after it has expired, an attestation can still be [renewed](attestation.md).',
    ),
    signing_alg: signingAlg
      .default('ES256')
      .describe(
        'There must be a key for it with the purpose `attestation`, and with `status_list` if there are lists.',
      ),
    typ: typ.default('device-attestation+jwt').describe('The type in the header of an attestation.'),
    attributes: z
      .strictObject({
        allow: z.array(attributeName).describe('The attributes that a caller may request. `[model, os]`'),
      })
      .optional()
      .describe('Which attributes an attestation may have. Without the section any but `status`.'),
    require_audience_in_proof: z
      .boolean()
      .default(false)
      .describe('Refuse a `challenge_signature` whose payload has no `aud`.'),
    status_list: z
      .strictObject({
        ttl_secs: seconds(300, { min: 10, max: day }).describe('For this time a verifier may use a list.'),
      })
      .optional()
      .describe(
        'Attestations have a status, and verifiers learn [in minutes](attestation.md#revocation-in-minutes) that one was revoked.',
      ),
    require_evidence: z
      .array(z.enum(['device', 'service']))
      .default([])
      .describe(
        'The types of principals that cannot enrol without [evidence](attestation-evidence.md) that their key is in hardware. A plugin must verify it.',
      ),
    client_attestations: z
      .array(clientAttestation)
      .min(1)
      .max(1000)
      .optional()
      .describe(
        'Which principals get a [client attestation](client-attestation.md#attestations-by-signet) beside theirs. The first entry that fits counts.',
      ),
    client_attestation_certificates: z
      .array(pem(/-----BEGIN CERTIFICATE-----/, 'a certificate chain'))
      .max(16)
      .default([])
      .describe("Certificate chains of the keys that sign client attestations, each key's own certificate first."),
    workload_identity: z
      .strictObject({
        identifier: workloadIdentifier.describe(
          'Of `spiffe` or `wimse`, with `{subject}` and `{principal_id}` as whole segments. `spiffe://bank.example/{subject}/{principal_id}`',
        ),
      })
      .optional()
      .describe(
        'Services get [workload identity tokens](workload-identity.md), and `/trust-bundle.json` has the keys.',
      ),
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

/** More than any machine can serve. */
const most = 100_000_000

/** Limits for one IPv4 address or IPv6 /64, and for one authenticated client. */
const requests = (address: number, client: number) =>
  z
    .strictObject({
      address_per_minute: perMinute(address, most).describe('Requests from one IPv4 address, or one /64 of IPv6.'),
      client_per_minute: perMinute(client, most).describe('Requests of one client that has authenticated.'),
    })
    .prefault({})

/** A limit for one address only. */
const ofAddress = (address: number) =>
  z
    .strictObject({
      address_per_minute: perMinute(address, most).describe('Requests from one IPv4 address, or one /64 of IPv6.'),
    })
    .prefault({})

/** Delays for password guesses are an option of the login plugin. */
export const rateLimits = z
  .strictObject({
    token: requests(60_000, 60_000).describe('Of [`/token`](limits.md#rate-limits).'),
    introspect: requests(600_000, 600_000).describe('Of `/introspect`.'),
    userinfo: ofAddress(60_000).describe('Of `/userinfo`.'),
    revoke: ofAddress(6000).describe('Of `/revoke`.'),
    authorize: z
      .strictObject({
        address_per_minute: perMinute(300, most).describe('Each request stores an entry.'),
        address_open: openAtOnce(300).describe(
          '[Sign-ins](limits.md#rate-limits) that one address may leave open. Finished ones do not count.',
        ),
      })
      .prefault({})
      .describe('Of `/authorize`, `/device`.'),
    par: z
      .strictObject({
        address_per_minute: perMinute(60_000, most).describe('As of `token`.'),
        client_per_minute: perMinute(60_000, most).describe('As of `token`.'),
        address_open: openAtOnce(300).describe('Pushed requests of public clients that one address may have open.'),
      })
      .prefault({})
      .describe('Of `/par`.'),
    register: z
      .strictObject({
        address_per_minute: perMinute(120, most).describe('As of `token`.'),
        address_open: openAtOnce(1000).describe(
          'Clients that one address may [register](registration.md#limits) within an hour without an initial access token, and keep unused.',
        ),
      })
      .prefault({})
      .describe('Of [`/register`](registration.md) and `/register/{client_id}` together.'),
    interaction: ofAddress(3000).describe('Of the pages of sign-in and consent together.'),
    device_authorization: z
      .strictObject({
        address_per_minute: perMinute(600, most).describe('As of `token`.'),
        address_open: openAtOnce(200).describe('Codes of public clients that one address may have open.'),
      })
      .prefault({})
      .describe('Of `/device_authorization`.'),
    device_verify: ofAddress(600).describe('Of `/device/verify`.'),
    bc_authorize: requests(6000, 600).describe('Of `/bc-authorize`.'),
    approvals: ofAddress(6000).describe(
      'Of `/approvals`. One device is held to `rate_limits.attestation.key_per_minute`, too.',
    ),
    documents: ofAddress(600_000).describe(
      'For discovery, `/jwks.json`, `/trust-bundle.json`, `/status-lists/…`, `/` and assets together.',
    ),
    key_log: ofAddress(6000).describe('Of [`/keys/log/…`](signers.md#the-key-log).'),
    refused: z
      .strictObject({
        address_per_minute: perMinute(6000, most).describe(
          'Beyond it the address gets 429 for the rest of the minute.',
        ),
        address_chains_per_minute: perMinute(300, most).describe(
          'Of refused chains of certificates; beyond it, the address gets 429 for whatever brings a certificate.',
        ),
      })
      .prefault({})
      .describe('Of [refused requests of unauthenticated callers](limits.md#rate-limits).'),
    attestation: z
      .strictObject({
        address_per_minute: perMinute(600).describe(
          'Requests from one IPv4 address, or one /64 of IPv6. Completions count separately. Raise it where devices come through one gateway.',
        ),
        key_per_minute: perMinute(30).describe(
          'Requests with one key from one address; and completions by one key, from any address.',
        ),
        subject_per_minute: perMinute(60).describe('Attempts to enrol for one subject.'),
        principal_free: z
          .int()
          .min(1)
          .max(1000)
          .default(10)
          .describe(
            'Enrolments of one principal without a delay. Each further one makes the next wait longer, up to 30 s, until one succeeds.',
          ),
      })
      .prefault({})
      .describe(
        'Of the endpoints of attestation. Beyond a limit Signet answers 429. Each further process may admit 10 % of a limit on its own.',
      ),
  })
  .prefault({})
