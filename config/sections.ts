import { z } from 'zod'
import {
  instant,
  isLoopbackHost,
  isSocketPath,
  resourceUri,
  scopeToken,
  secret,
  signingAlg,
  text,
  trustedPeer,
} from './fields.js'

export const port = z.int().min(0).max(65_535)

export const pem = (label: RegExp, what: string) =>
  z.string().regex(label, `must be the PEM text of ${what}; write {$file: path} to read it from a file`)

/** RFC 6125 and the like are the operator's: this checks only that the files were not swapped or named instead of read. */
export const tls = z.strictObject({
  cert: pem(/-----BEGIN CERTIFICATE-----/, 'a certificate chain'),
  key: pem(/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/, 'a private key').pipe(secret),
})

const noPortOnSocket = (value: { host?: string | undefined; port?: number | undefined }) =>
  value.host === undefined || !isSocketPath(value.host) || value.port === undefined
const noPortMessage = { path: ['port'], message: 'a unix socket has no port' }

/**
 * Where the public listener is: `host` is a name, an address, or the path of a unix socket (then `port` means nothing).
 * Absent: every address, and only loopback where the issuer is http, which is for loopback alone.
 */
export const listen = z
  .strictObject({ host: text.optional(), port: port.optional(), tls: tls.optional() })
  .refine(noPortOnSocket, noPortMessage)
  .transform((value) => ({ ...value, port: value.port ?? 3000 }))
  .prefault({})

/** Who may answer hand-offs, and do nothing else: with each of these that is given. Absent: who may do everything. */
const handoff = z.strictObject({
  token: secret.optional(),
  /** Roots of the certificates of `clients`. */
  trust_anchors: z.array(pem(/-----BEGIN CERTIFICATE-----/, 'certificates')).default([]),
  /** Subjects of certificates, in the words of RFC 8705 §2.1.2: one for each. */
  clients: z
    .array(
      z.strictObject({
        tls_client_auth_subject_dn: text.optional(),
        tls_client_auth_san_dns: text.optional(),
        tls_client_auth_san_uri: text.optional(),
        tls_client_auth_san_ip: text.optional(),
        tls_client_auth_san_email: text.optional(),
      }),
    )
    .default([]),
})

/** Health, reload and answers of hand-offs. Off loopback nobody gets in without the token. */
export const admin = z
  .strictObject({
    host: text.default('127.0.0.1'),
    port: port.optional(),
    token: secret.optional(),
    tls: tls.optional(),
    handoff: handoff.optional(),
  })
  .refine(noPortOnSocket, noPortMessage)
  .refine((value) => value.token !== undefined || isLoopbackHost(value.host) || isSocketPath(value.host), {
    path: ['token'],
    message: 'is required when the admin listener is not on loopback',
  })
  .transform((value) => ({ ...value, port: value.port ?? 3001 }))
  .prefault({})

/** Peers whose `X-Forwarded-For` is believed: CIDRs, or `unix`. */
export const trustedProxies = z.array(trustedPeer).default([])

/** A module to load, with what its own schema checks. */
export const module = z.strictObject({ use: text, options: z.unknown().optional() })

export const signers = z
  .record(
    z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be a name such as hsm or kms-eu: small letters, digits, - and _'),
    module,
  )
  .default({})

/** All that is signed. */
export const keyPurposes = [
  'access_token',
  'id_token',
  'attestation',
  'userinfo',
  'introspection',
  'jarm',
  'logout_token',
  'status_list',
  'client_authentication',
  'handoff',
] as const

/** The inventory, in order of preference. */
export const keys = z
  .array(
    z
      .strictObject({
        kid: z
          .string()
          .regex(/^[\x21\x23-\x5B\x5D-\x7E]{1,128}$/, 'must be 1 to 128 printable characters without blanks'),
        alg: signingAlg,
        signer: text,
        ref: text,
        purposes: z
          .array(z.enum(keyPurposes))
          .min(1, 'must name at least one purpose')
          .transform((named) => keyPurposes.filter((purpose) => named.includes(purpose)))
          .prefault([...keyPurposes]),
        not_before: instant.optional(),
        not_after: instant.optional(),
        /** Signs although relying parties may still hold a key set without it. */
        allow_early: z.boolean().default(false),
      })
      .refine((key) => key.not_before === undefined || key.not_after === undefined || key.not_before < key.not_after, {
        path: ['not_after'],
        message: 'must be later than not_before',
      }),
  )
  .min(1, 'must have at least one key')

/** RFC 7591 metadata; checked where clients are understood. */
export const clients = z.array(z.looseObject({ client_secret: secret.optional() })).default([])

/** OIDC Core §2: `sub` has at most 255 ASCII characters. */
export const accounts = z
  .array(
    z.strictObject({
      username: z.string().min(1, 'must not be empty').max(255),
      password: secret,
      sub: z.string().regex(/^[\x20-\x7E]{1,255}$/, 'must be 1 to 255 ASCII characters (OpenID Connect Core §2)'),
      claims: z
        .record(z.string(), z.json())
        .refine((claims) => !('sub' in claims), 'must not contain sub, which is a key of its own beside claims')
        .default({}),
    }),
  )
  .default([])

export const resources = z
  .array(
    z.strictObject({
      identifier: resourceUri,
      /** Space-separated, as RFC 7591 writes it. Absent: every supported scope. */
      scope: z
        .string()
        .transform((value) => value.split(' ').filter(Boolean))
        .pipe(z.array(scopeToken))
        .optional(),
      access_token_ttl_secs: z.int().min(1).max(86_400).optional(),
    }),
  )
  .default([])

/** Fetches from addresses that clients registered: `jwks_uri`. */
export const outbound = z.strictObject({ allow_private_addresses: z.boolean().default(false) }).prefault({})

export const log = z.strictObject({ level: z.enum(['debug', 'info', 'warn', 'error']).default('info') }).prefault({})

/** How a stop goes. Absent delay: 5 s, and none where the public listener is on loopback or a unix socket. */
export const shutdown = z.strictObject({ delay_secs: z.int().min(0).max(20).optional() }).prefault({})

export const audit = z
  .union([
    z.literal('stdout'),
    z.strictObject({ file: text.refine((file) => file !== 'stdout', 'write `audit: stdout` to print the audit log') }),
  ])
  .default({ file: './data/audit.jsonl' })
