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
  listen,
  log,
  module,
  outbound,
  resources,
  shutdown,
  signers,
  trustedProxies,
} from './sections.js'
import { keys } from './keys.js'
import { approvalHours, breakGlassSecret, dualControl, operators } from './operators.js'
import { clientCertificateHeader, mtls } from './mtls.js'
import { registration } from './registration.js'
import { storage } from './storage.js'
import { ui } from './ui.js'

const day = 86_400

const workersForm = 'must be a whole number from 1 to 64, or auto'

/** The whole file. Every key is honoured, or refused with a reason. */
export const configObject = z.strictObject({
  /** Handled before this schema, which sees the merged file. */
  extends: text
    .optional()
    .describe('A file that this one [changes](configuration.md#several-environments). `base.yaml`'),
  issuer: issuer.describe(
    'The source of every URL that the service prints or compares. https, or http on loopback; no slash at the end, no query. `https://id.bank.example`',
  ),
  listen: listen.describe('The public listener.'),
  admin: admin.describe('The admin listener: health, metrics, reload, answers of hand-offs. Never public.'),
  operators: operators.describe('[Who administers](administration.md) the deployment.'),
  dual_control: dualControl.describe(
    'How many other operators must [approve](administration.md#approvals) an action of each kind. `{ keys: 1, operators: 1 }`',
  ),
  approval_hours: approvalHours.describe('How long an action waits for its approvals.'),
  break_glass_secret: breakGlassSecret.describe(
    'With it, `signet approve --break-glass` on the host carries out an action without approvals. `{ $env: BREAK_GLASS }`',
  ),
  workers: z
    .union([z.int(workersForm).min(1, workersForm).max(64, workersForm), z.literal('auto', workersForm)])
    .default(1)
    .describe('[Processes](operations.md#workers) that serve the one port; `auto`: as many as the machine has cores.'),
  trusted_proxies: trustedProxies.describe(
    'Whose `X-Forwarded-For` is believed; `unix`: that of anyone who connects to the unix socket. `[10.0.7.0/28]`',
  ),
  client_certificate_header: clientCertificateHeader.describe(
    "The header in which trusted proxies hand on a client's certificate; see [mtls.md](mtls.md).",
  ),
  mtls: mtls.describe('[Mutual TLS](mtls.md): needs `mtls.listen` or `client_certificate_header`.'),

  scopes_supported: scopes.describe(
    'At least one unless the deployment only attests, as a name or as a section: see [scopes and claims](claims.md). Without `openid` there are no id_tokens; with it, refreshing needs `offline_access`. `[openid, profile, offline_access, api]`',
  ),
  claims: claims.describe(
    'How claims come from accounts, and where they are beyond what scopes release: see [scopes and claims](claims.md). The name of each is its name in tokens.',
  ),
  /** At `/authorize` and `/device_authorization` (OIDC Core §3.1.2.1). */
  unknown_scopes: z
    .enum(['ignore', 'refuse'])
    .default('ignore')
    .describe(
      'What happens to a scope that is not supported, at `/authorize` and `/device_authorization`. `scope` in the answer of `/token` lists what was granted. `refuse`: `invalid_scope`.',
    ),
  response_types_supported: z
    .array(z.enum(['code']))
    .min(1, 'must name at least one response type')
    .default(['code'])
    .describe('No other value.'),
  grant_types_supported: z
    .array(text)
    .min(1, 'must name at least one grant type')
    .optional()
    .describe(
      'Grants that are not listed are off. Listing one that no plugin provides is an error. Default: all that the plugins provide. `[authorization_code, refresh_token]`',
    ),
  id_token_signing_alg: signingAlg
    .default('RS256')
    .describe(
      'For clients that registered none. There must be a key for it. Many client libraries expect RS256: `check` warns when no key can sign it.',
    ),
  access_token_signing_alg: signingAlg
    .optional()
    .describe('There must be a key for it. Default: as `id_token_signing_alg`. `ES256`'),
  // RFC 6749 §4.1.2 recommends ten minutes at most.
  authorization_code_ttl_secs: seconds(60, { max: 600 }).describe('How long a code can be redeemed.'),
  access_token_ttl_secs: seconds(600, { max: day }).describe('Validity of access tokens.'),
  id_token_ttl_secs: seconds(3600, { max: day }).describe('Validity of ID tokens.'),
  refresh_token_idle_ttl_secs: seconds(14 * day).describe(
    'A refresh token that is unused for this time expires. At most the absolute time.',
  ),
  refresh_token_absolute_ttl_secs: seconds(90 * day).describe('Fixed: use does not extend it.'),
  /** RFC 6749 §1.5. Requests with `openid` need `offline_access` in any case (OIDC Core §11). */
  refresh_token_without_openid: z
    .boolean()
    .default(true)
    .describe(
      'Whether a request without `openid` gets a [refresh token](relying-parties.md#refresh-tokens) without `offline_access`, by `grant_types` alone.',
    ),
  session_ttl_secs: seconds(14 * day).describe('How long a browser stays signed in.'),
  clock_tolerance_secs: seconds(10, { min: 0, max: 120 }).describe(
    'How far clocks may differ when tokens are checked.',
  ),
  // Common libraries sign for an hour.
  client_assertion_max_age_secs: seconds(3600, { min: 10, max: day }).describe(
    'How far ahead an assertion of `private_key_jwt` may expire. Each takes [room](limits.md#shares-of-the-stores) until then.',
  ),
  // RFC 8628 §5.1: short, because a longer life is more time to guess.
  device_code_ttl_secs: seconds(600, { max: 3600 }).describe('Validity of device codes and user codes.'),
  /** The longest lifetime of requests for approval on a device (OpenID CIBA Core §7.3). */
  auth_req_id_ttl_secs: seconds(300, { max: 3600 }).describe(
    'How long a request for an [approval on a device](ciba.md) waits at the most.',
  ),
  par_ttl_secs: seconds(60, { max: 600 }).describe(
    'How long a pushed authorization request can be opened: `expires_in` of `/par`. See [protocol.md](protocol.md#pushed-authorization-requests).',
  ),
  require_pushed_authorization_requests: z
    .boolean()
    .default(false)
    .describe(
      '`/authorize` accepts only requests that their client has pushed (RFC 9126 §5). A client can say so for itself.',
    ),
  require_signed_request_object: z
    .boolean()
    .default(false)
    .describe(
      '`/authorize` and `/par` accept only requests that their client has [signed](protocol.md#signed-authorization-requests) (RFC 9101). A client can say so for itself.',
    ),
  request_uris: z
    .enum(['off', 'registered'])
    .default('off')
    .describe(
      'Whether `/authorize` [fetches](protocol.md#signed-authorization-requests) a `request_uri` that its client has registered (RFC 9101 §5.2).',
    ),
  authorization_details_types: authorizationDetailsTypes.describe(
    'Types of [rich authorization requests](authorization-details.md) (RFC 9396).',
  ),
  acr_values_supported: acrValuesSupported.describe(
    'What clients may ask of a sign-in, the weakest first; see [step-up](step-up.md).',
  ),
  security_profile: z
    .enum(['oauth2', 'fapi2'])
    .default('oauth2')
    .describe('The profile of clients that name none; with `fapi2` every client must have it. See [fapi.md](fapi.md).'),
  fapi2_message_signing: z
    .array(z.enum(['request', 'response', 'introspection']))
    .default([])
    .describe('What clients with `fapi2` must have signed (FAPI 2.0 Message Signing).'),
  userinfo: userinfoRequirements.describe('What `/userinfo` requires of the sign-in behind a token.'),
  pairwise_key: pairwiseKey
    .optional()
    .describe(
      '32 bytes or more, of which [pairwise subjects](pairwise.md) are made. Required as soon as a client has `subject_type: pairwise`. `{ $env: PAIRWISE_KEY }`',
    ),
  pairwise_key_replaced: z
    .boolean()
    .default(false)
    .describe('Starts with another `pairwise_key` than before, which changes every pairwise subject.'),
  account_page: z
    .boolean()
    .default(true)
    .describe("Serves [the person's own page](account.md), `/account`, where people sign in."),
  ui: ui.describe('How the pages look: see [branding](branding.md).'),
  registration: registration.describe('[Client registration](registration.md) (RFC 7591, 7592).'),
  token_exchange_enabled: z
    .boolean()
    .default(false)
    .describe('Enables [token exchange](plugins.md#token-exchange), which a plugin must provide.'),
  default_audience: resourceUri
    .optional()
    .describe(
      '`aud` of access tokens that were requested without a resource. Default: the issuer. `https://api.bank.example`',
    ),
  resources: resources.describe(
    'Resource servers with their own rules (RFC 8707). A client also needs the identifier in its `allowed_audiences`.',
  ),
  attestation: attestation.describe(
    'Enables `/enrol`, `/enrol/complete` and `/reissue`. Without the section they do not exist. `attestation: {}` uses all defaults. A plugin must provide a second factor.',
  ),

  signers: signers.describe(
    'Backends that hold keys. You choose the name: lower-case letters, digits, `-`, `_`. See [signers.md](signers.md).',
  ),
  keys: keys.describe('The inventory, in order of preference. At least one.'),
  key_log: z
    .boolean()
    .default(false)
    .describe(
      'Keeps a public [log of keys](signers.md#the-key-log) below `/keys/log`. It needs a key for `EdDSA` with the purpose `audit`.',
    ),
  plugins: z.array(module).default([]).describe('The plugins to load. See [plugins.md](plugins.md).'),
  storage: storage.describe('See [storage.md](storage.md).'),
  clients: clients.describe(
    'Clients defined here override clients with the same id in the store. See [client metadata](clients.md#client-metadata).',
  ),
  accounts: accounts.describe(
    'People for `plugins/login/password`. Accounts defined here override those in the store.',
  ),
  rate_limits: rateLimits.describe(
    'How often something may happen in one minute. The [login plugin](plugins.md#plugins-that-come-with-signet) delays guesses of passwords.',
  ),
  outbound: outbound.describe(
    'What Signet asks because a client registered its address: `jwks_uri`, `request_uris` (2 s), `backchannel_logout_uri`, `backchannel_client_notification_endpoint` (5 s). 64 KiB, no redirect.',
  ),
  log: log.describe('The log, on standard output: JSON lines, or readable lines on a terminal.'),
  audit: audit.describe('Where the [audit log](audit-log.md) goes.'),
  shutdown: shutdown.describe('How the service [stops](operations.md#start-and-stop).'),
})

/** The file's members with independent defaults. */
export type Written = z.output<typeof configObject>

/** Enough for a balancer that checks every two seconds to do so twice. */
const defaultDelaySeconds = 5

const staysHere = (host: string): boolean => isLoopbackHost(host) || isSocketPath(host)

type Scope = Written['scopes_supported'][number]

/** In a file with mistakes any of them may be missing. */
const namesOf = (scopes: readonly (Scope | undefined)[] | undefined): string[] =>
  (scopes ?? []).flatMap((scope) => scope?.name ?? [])

/** An http issuer is on loopback, and nothing else should reach it in clear text. */
const hostOf = ({ listen: { host }, issuer: written }: Pick<Written, 'listen' | 'issuer'>): string => {
  if (host !== undefined) return host
  const { protocol, hostname } = new URL(URL.canParse(written) ? written : 'https://issuer.invalid')
  if (protocol !== 'http:') return '0.0.0.0'
  return hostname === 'localhost' ? '127.0.0.1' : hostname.replaceAll(/[[\]]/g, '')
}

/** Fills in what depends on other members. */
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

/** The configuration in force: names as in the file, with defaults, frozen. Times are milliseconds since the epoch. */
export type Config = Immutable<z.output<typeof configSchema>>
