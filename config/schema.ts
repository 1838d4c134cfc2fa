import { z } from 'zod'
import { attestation, rateLimits } from './attestation.js'
import { acrValuesSupported, userinfoRequirements } from './authentication-context.js'
import { authorizationDetailsTypes } from './authorization-details.js'
import { claims, scopes } from './claims.js'
import { isLoopbackHost, isSocketPath, issuer, pairwiseKey, resourceUri, seconds, signingAlg, text } from './fields.js'
import {
  accounts,
  admin,
  audit,
  clients,
  keys,
  listen,
  log,
  module,
  outbound,
  resources,
  shutdown,
  signers,
  trustedProxies,
} from './sections.js'
import { clientCertificateHeader, mtls } from './mtls.js'
import { registration } from './registration.js'
import { storage } from './storage.js'
import { ui } from './ui.js'

const day = 86_400

const workersForm = 'must be a whole number from 1 to 64, or auto'

/** The whole file. Every key here is honoured, or refused with the reason. */
export const configObject = z.strictObject({
  /** Read before this schema: what it names is merged by then. */
  extends: text.optional(),
  issuer,
  listen,
  admin,
  workers: z
    .union([z.int(workersForm).min(1, workersForm).max(64, workersForm), z.literal('auto', workersForm)])
    .default(1),
  trusted_proxies: trustedProxies,
  client_certificate_header: clientCertificateHeader,
  mtls,

  /** Required where a plugin provides a grant. */
  scopes_supported: scopes,
  claims,
  /** At `/authorize` and `/device_authorization` (OIDC Core §3.1.2.1). */
  unknown_scopes: z.enum(['ignore', 'refuse']).default('ignore'),
  response_types_supported: z
    .array(z.enum(['code']))
    .min(1, 'must name at least one response type')
    .default(['code']),
  /** Absent: all that the plugins provide. */
  grant_types_supported: z.array(text).min(1, 'must name at least one grant type').optional(),
  id_token_signing_alg: signingAlg.default('RS256'),
  access_token_signing_alg: signingAlg.optional(),
  // RFC 6749 §4.1.2 recommends ten minutes at most.
  authorization_code_ttl_secs: seconds(60, { max: 600 }),
  access_token_ttl_secs: seconds(600, { max: day }),
  id_token_ttl_secs: seconds(3600, { max: day }),
  refresh_token_idle_ttl_secs: seconds(14 * day),
  refresh_token_absolute_ttl_secs: seconds(90 * day),
  /** RFC 6749 §1.5. Requests with `openid` need `offline_access` in any case (OIDC Core §11). */
  refresh_token_without_openid: z.boolean().default(true),
  session_ttl_secs: seconds(14 * day),
  clock_tolerance_secs: seconds(10, { min: 0, max: 120 }),
  // Common libraries sign for an hour.
  client_assertion_max_age_secs: seconds(3600, { min: 10, max: day }),
  // RFC 8628 §5.1: short, because a longer life is more time to guess.
  device_code_ttl_secs: seconds(600, { max: 3600 }),
  /** Of requests for the approval on a device, at the most (OpenID CIBA Core §7.3). */
  auth_req_id_ttl_secs: seconds(300, { max: 3600 }),
  par_ttl_secs: seconds(60, { max: 600 }),
  require_pushed_authorization_requests: z.boolean().default(false),
  require_signed_request_object: z.boolean().default(false),
  /** Which `request_uri` is fetched, beside those of `/par`. */
  request_uris: z.enum(['off', 'registered']).default('off'),
  authorization_details_types: authorizationDetailsTypes,
  acr_values_supported: acrValuesSupported,
  /** Of clients that do not say. */
  security_profile: z.enum(['oauth2', 'fapi2']).default('oauth2'),
  fapi2_message_signing: z.array(z.enum(['request', 'response', 'introspection'])).default([]),
  userinfo: userinfoRequirements,
  /** Required where a client has `subject_type: pairwise`. */
  pairwise_key: pairwiseKey.optional(),
  /** The key is another one, or gone, and this is meant. */
  pairwise_key_replaced: z.boolean().default(false),
  /** People see and end what they have at `/account`. */
  account_page: z.boolean().default(true),
  ui,
  registration,
  token_exchange_enabled: z.boolean().default(false),
  default_audience: resourceUri.optional(),
  resources,
  attestation,

  signers,
  keys,
  plugins: z.array(module).default([]),
  storage,
  clients,
  accounts,
  rate_limits: rateLimits,
  outbound,
  log,
  audit,
  shutdown,
})

/** The file's members with the defaults that stand on their own. */
export type Written = z.output<typeof configObject>

/** Balancers that ask every two seconds have asked twice. */
const defaultDelaySeconds = 5

const staysHere = (host: string): boolean => isLoopbackHost(host) || isSocketPath(host)

type Scope = Written['scopes_supported'][number]

/** Of a file with mistakes any of them may be missing. */
const namesOf = (scopes: readonly (Scope | undefined)[] | undefined): string[] =>
  (scopes ?? []).flatMap((scope) => scope?.name ?? [])

/** An http issuer is on loopback, and nobody else needs to reach it in clear text. */
const hostOf = ({ listen: { host }, issuer: written }: Pick<Written, 'listen' | 'issuer'>): string => {
  if (host !== undefined) return host
  const { protocol, hostname } = new URL(URL.canParse(written) ? written : 'https://issuer.invalid')
  if (protocol !== 'http:') return '0.0.0.0'
  return hostname === 'localhost' ? '127.0.0.1' : hostname.replaceAll(/[[\]]/g, '')
}

/** What follows from what was written. */
export const complete = ({ extends: _base, ...written }: Written) => ({
  ...written,
  /** With titles, descriptions and claims. */
  scopes: written.scopes_supported,
  scopes_supported: namesOf(written.scopes_supported),
  access_token_signing_alg: written.access_token_signing_alg ?? written.id_token_signing_alg,
  default_audience: written.default_audience ?? written.issuer,
  listen: { ...written.listen, host: hostOf(written) },
  shutdown: { delay_secs: written.shutdown.delay_secs ?? (staysHere(hostOf(written)) ? 0 : defaultDelaySeconds) },
})

export const configSchema = configObject.transform(complete)

type Immutable<T> = T extends (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends { reveal(): string }
    ? T
    : T extends object
      ? { readonly [Name in keyof T]: Immutable<T[Name]> }
      : T

/** The configuration in force: member names as in the file, defaults filled in, frozen. Times are milliseconds since the epoch. */
export type Config = Immutable<z.output<typeof configSchema>>
