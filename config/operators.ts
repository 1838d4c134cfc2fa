import { z } from 'zod'
import { issuer, secret, text } from './fields.js'
import { certificateSubject, pem } from './sections.js'

const base64url = z
  .string()
  .regex(/^[\w-]{16,1400}$/, 'must be base64url')
  .meta({ title: 'base64url' })

const passkey = z.strictObject({
  id: base64url.describe(
    'The credential id. The page "Your credentials" of the console shows both. `q3fLxR9sT2aBq3fLxR9sT2aB`',
  ),
  public_key: base64url.describe('The public key as a COSE_Key (RFC 9052 §7). `pQECAyYgASFYIA…`'),
})

/** Names of people are in lower case, so that no two look alike. */
const person = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._@-]{0,63}$/, 'must be 1 to 64 small letters, digits, and . _ @ -')
    .describe('The name in the audit log. `ada`'),
  roles: z.array(text).max(20).describe('What they may do. `[operator, key_custodian]`'),
  disabled: z.boolean().default(false).describe('Whether they are refused for now.'),
  certificate: certificateSubject
    .optional()
    .describe(
      'The subject of their certificate, by one of the following (RFC 8705 §2.1.2). Needs `operators.trust_anchors`.',
    ),
  passkeys: z.array(passkey).max(10).default([]).describe('Passkeys, beside those that they register in the console.'),
  oidc_sub: text.max(255).optional().describe('Their `sub` at `operators.oidc`. `9f1c2d`'),
  devices: z
    .array(text.max(512))
    .max(10)
    .default([])
    .describe(
      'Ids of their [attested devices](attestation.md), which [approve](administration.md#approvals) and do nothing else.',
    ),
})

const oidc = z.strictObject({
  issuer: issuer.describe('The issuer, which may be this deployment. `https://idp.bank.example`'),
  client_id: text.describe(
    'The client that the issuer knows us by. Its redirect URI is `{admin.base_url}/console/sign-in/oidc/callback`. `signet-admin`',
  ),
  client_secret: secret
    .optional()
    .describe('Without it the client is public, and PKCE alone protects the code. `{ $env: ADMIN_OIDC_SECRET }`'),
  scopes: z.array(text).default(['openid']).describe('What is asked for. `[openid, groups]`'),
  roles: z
    .strictObject({
      from: text.describe('A claim of the ID token: a text or a list of texts. `groups`'),
      map: z.record(text, text).describe('Roles by the values of the claim. `{ idp-admins: operator }`'),
    })
    .optional()
    .describe('Roles of people who are not in `operators.people`. Without it, only those people sign in.'),
})

/** The operators who may administer the deployment; anyone who can open its stores may as well. */
export const operators = z
  .strictObject({
    roles: z
      .record(
        z
          .string()
          .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as release_manager: small letters, digits and _'),
        z.array(text),
      )
      .default({})
      .describe(
        'Roles beside `viewer`, `support`, `operator`, `key_custodian` and `auditor`, each with its [permissions](administration.md#permissions). `{ registrar: [clients.read, registrations.write] }`',
      ),
    people: z
      .array(person)
      .max(200)
      .default([])
      .describe('Operators. Others can be [added in the store](administration.md#operators).'),
    trust_anchors: z
      .array(pem(/-----BEGIN CERTIFICATE-----/, 'certificates'))
      .default([])
      .describe('Roots of the certificates of operators. Needs `admin.tls`. `[{ $file: tls/operators-ca.pem }]`'),
    oidc: oidc.optional().describe('Sign-in at an OpenID Provider. Needs the package `openid-client`.'),
  })
  .prefault({})

const others = z.int().min(0).max(5).default(0)

/** The number of other operators who must approve an action of each kind. */
export const dualControl = z
  .strictObject({
    keys: others.describe('Rotate, withdraw, adopt and release keys of slots.'),
    clients: others.describe('Add, change and remove clients, and replace their secrets.'),
    operators: others.describe('Everything about operators, their credentials and tokens.'),
  })
  .prefault({})

export const approvalHours = z.int().min(1).max(720).default(24)

export const breakGlassSecret = secret
  .refine((value) => value.reveal().length >= 16, 'must have 16 characters or more')
  .optional()
