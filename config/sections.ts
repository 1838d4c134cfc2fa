import { z } from 'zod'
import {
  isLoopbackHost,
  isSocketPath,
  issuer,
  link,
  resourceUri,
  scopeToken,
  secret,
  text,
  trustedPeer,
} from './fields.js'

export const port = z.int().min(0).max(65_535)

export const pem = (label: RegExp, what: string) =>
  z
    .string()
    .regex(label, `must be the PEM text of ${what}; write {$file: path} to read it from a file`)
    .meta({ title: 'PEM text' })

/**
 * Checking names in certificates (RFC 6125) is left to operators; this only checks that the files are not swapped and
 * were read.
 */
export const tls = z.strictObject({
  cert: pem(/-----BEGIN CERTIFICATE-----/, 'a certificate chain').describe(
    'The certificate chain. `{ $file: tls/chain.pem }`',
  ),
  key: pem(/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/, 'a private key')
    .pipe(secret)
    .describe('Its private key. `{ $file: tls/key.pem }`'),
})

const noPortOnSocket = (value: { host?: string | undefined; port?: number | undefined }) =>
  value.host === undefined || !isSocketPath(value.host) || value.port === undefined
const noPortMessage = { path: ['port'], message: 'a unix socket has no port' }

/**
 * The public listener: `host` is a name, an address, or the path of a unix socket (then `port` is ignored). Default:
 * every address, or only loopback for an http issuer, which is for loopback only.
 */
export const listen = z
  .strictObject({
    host: text
      .optional()
      .describe(
        'A name, an address, or the path of a unix socket (`/run/signet.sock`, `./signet.sock`). Default: `0.0.0.0`, or the loopback address of an http issuer.',
      ),
    port: port.optional().describe('0: any free port. Not with a unix socket. Default: 3000.'),
    tls: tls.optional().describe('Serve TLS (1.2 or later). Without it plain HTTP.'),
  })
  .refine(noPortOnSocket, noPortMessage)
  .transform((value) => ({ ...value, port: value.port ?? 3000 }))
  .prefault({})

/** The subject of a certificate in the terms of RFC 8705 §2.1.2: one of these members. */
export const certificateSubject = z.strictObject({
  tls_client_auth_subject_dn: text.optional().describe('The subject. `CN=sign-in,O=Example Bank,C=DE`'),
  tls_client_auth_san_dns: text.optional().describe('A subject alternative name. `sign-in.bank.example`'),
  tls_client_auth_san_uri: text.optional().describe('A subject alternative name. `spiffe://bank.example/sign-in`'),
  tls_client_auth_san_ip: text.optional().describe('A subject alternative name. `10.0.7.5`'),
  tls_client_auth_san_email: text.optional().describe('A subject alternative name. `sign-in@bank.example`'),
})

/**
 * Callers that may answer hand-offs and nothing else; they must present each credential given here. Default: those
 * that may do everything.
 */
const handoff = z.strictObject({
  token: secret.optional().describe('`Authorization: Bearer …`. Another than `admin.token`. `{ $env: HANDOFF_TOKEN }`'),
  trust_anchors: z
    .array(pem(/-----BEGIN CERTIFICATE-----/, 'certificates'))
    .default([])
    .describe('Roots of these certificates. `[{ $file: tls/services-ca.pem }]`'),
  clients: z
    .array(certificateSubject)
    .default([])
    .describe('Subjects of certificates, each by one of the following (RFC 8705 §2.1.2). Needs `admin.tls`.'),
})

/** Health, reload and answers to hand-offs. Outside loopback, the token is required. */
export const admin = z
  .strictObject({
    host: text.default('127.0.0.1').describe('As `listen.host`.'),
    port: port.optional().describe('As `listen.port`. Default: 3001.'),
    token: secret
      .optional()
      .describe(
        '`Authorization: Bearer …` for everything but `/health/live` and, with `admin.handoff`, answers of hand-offs. Required when the host is neither loopback nor a unix socket. `{ $env: ADMIN_TOKEN }`',
      ),
    tls: tls
      .optional()
      .describe('As `listen.tls`: a reload takes a new certificate. `signet reload` accepts this certificate alone.'),
    base_url: issuer
      .optional()
      .describe(
        'The address under which browsers reach this listener, behind a proxy under a path too. `Host` must be its host. Needed by the [console](administration.md#signing-in) unless the listener is on loopback without TLS. `https://admin.bank.example/signet`',
      ),
    handoff: handoff
      .optional()
      .describe(
        'Who may [answer hand-offs](sign-in.md#who-may-answer), and do nothing else: with every credential that it names. Without it `admin.token` answers them.',
      ),
  })
  .refine(noPortOnSocket, noPortMessage)
  .refine((value) => value.token !== undefined || isLoopbackHost(value.host) || isSocketPath(value.host), {
    path: ['token'],
    message: 'is required when the admin listener is not on loopback',
  })
  .transform((value) => ({ ...value, port: value.port ?? 3001 }))
  .prefault({})

/** Peers whose `X-Forwarded-For` is trusted: CIDRs, or `unix`. */
export const trustedProxies = z.array(trustedPeer).default([])

/** A module to load, and options for its own schema. */
export const module = z.strictObject({
  use: text.describe(
    "The module: built in (`signers/local`, `plugins/grants/refresh-token`), a file (`./loan.js`) or an npm package (`'@bank/signet-loan'`).",
  ),
  options: z.unknown().optional().describe('What the module defines. `{ directory: ./data/keys, create: true }`'),
})

export const signers = z
  .record(
    z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be a name such as hsm or kms-eu: small letters, digits, - and _'),
    module,
  )
  .default({})

/** RFC 7591 metadata, checked by the code for clients. */
export const clients = z
  .array(
    z.looseObject({
      client_secret: secret
        .optional()
        .describe('16 to 1024 printable ASCII characters; only its hash is kept in memory. `{ $env: TELLER_SECRET }`'),
    }),
  )
  .default([])

/** OIDC Core §2: `sub` has at most 255 ASCII characters. */
export const accounts = z
  .array(
    z.strictObject({
      username: z
        .string()
        .min(1, 'must not be empty')
        .max(255)
        .describe('Compared without regard to case and width of letters.'),
      password: secret.describe(
        'At least 8 characters: see [how strong](configuration.md#how-strong-secrets-must-be). `{ $env: ALICE_PASSWORD }`',
      ),
      sub: z
        .string()
        .regex(/^[\x20-\x7E]{1,255}$/, 'must be 1 to 255 ASCII characters (OpenID Connect Core §2)')
        .describe(
          "The subject that clients see, and not the `client_id` of a client. Put digits in quotes. `'248289761001'`",
        ),
      claims: z
        .record(z.string(), z.json())
        .refine((claims) => !('sub' in claims), 'must not contain sub, which is a key of its own beside claims')
        .default({})
        .describe(
          'Any claims: see [scopes and claims](claims.md). `{ name: Alice Adams, email: alice@bank.example, email_verified: true }`',
        ),
    }),
  )
  .default([])

export const resources = z
  .array(
    z.strictObject({
      identifier: resourceUri.describe('The value of `resource`, and then `aud`. `https://payments.bank.example`'),
      /** Separated by spaces, as in RFC 7591. Default: every supported scope. */
      scope: z
        .string()
        .transform((value) => value.split(' ').filter(Boolean))
        .pipe(z.array(scopeToken))
        .optional()
        .describe(
          'The scopes that this resource server accepts. Its tokens leave out others; if none is left, the answer is `invalid_scope`. Default: any. `payments:read payments:write`',
        ),
      access_token_ttl_secs: z
        .int()
        .min(1)
        .max(86_400)
        .optional()
        .describe(
          'The longest one decides how long a [retired key](signers.md#the-inventory) stays published. Default: the general one.',
        ),
    }),
  )
  .default([])

/** Fetches from addresses that clients registered, such as `jwks_uri`. */
export const outbound = z
  .strictObject({
    allow_private_addresses: z
      .boolean()
      .default(false)
      .describe(
        'Whether such an address may be in a private network or on this machine. A name is checked after it is resolved.',
      ),
  })
  .prefault({})

export const log = z
  .strictObject({
    level: z
      .enum(['debug', 'info', 'warn', 'error'])
      .default('info')
      .describe('The least severe lines that are written.'),
  })
  .prefault({})

/** How the service stops. Default delay: 5 s, or none if the public listener is on loopback or a unix socket. */
export const shutdown = z
  .strictObject({
    delay_secs: z
      .int()
      .min(0)
      .max(20)
      .optional()
      .describe(
        'How long the service still accepts connections when it is no longer ready, so that a load balancer can notice. Default: 5, and 0 where `listen.host` is loopback or a unix socket.',
      ),
  })
  .prefault({})

export const audit = z
  .union([
    z.literal('stdout'),
    z.strictObject({
      file: text
        .refine((file) => file !== 'stdout', 'write `audit: stdout` to print the audit log')
        .describe('A file of JSON lines. `audit: stdout` prints them and requires `workers: 1`.'),
      reads: z
        .boolean()
        .optional()
        .describe(
          'Record also who reads personal data: the event `administration.read`, with the operator and the people.',
        ),
      timestamp_authority: link
        .optional()
        .describe(
          "Who stamps each [auditor's pack](audit-log.md#the-auditors-pack) with the time (RFC 3161). Absent: packs have no time stamp. `https://tsa.example/tsr`",
        ),
    }),
  ])
  .default({ file: './data/audit.jsonl' })
