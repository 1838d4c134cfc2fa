import type { Config } from '../../config/schema.js'
import type { JsonValue } from '../json.js'
import type { Client } from '../oauth/clients/client.js'

/** A setting that applies to a client, and where it comes from: its metadata, the configuration, or Signet's default. */
export interface EffectiveSetting {
  readonly value: JsonValue
  readonly from: 'client' | 'deployment' | 'default'
}

type Settings = Readonly<Record<string, EffectiveSetting>>

/** The values that apply where neither the client nor the configuration sets one. */
const defaults: Readonly<Partial<Record<keyof Client, JsonValue>>> = {
  token_endpoint_auth_method: ['client_secret_basic', 'client_secret_post'],
  subject_type: 'public',
  consent: 'remembered',
  include_claims_in_id_token: false,
  dpop_bound_access_tokens: false,
  tls_client_certificate_bound_access_tokens: false,
  require_signed_request_object: false,
  backchannel_token_delivery_mode: 'poll',
}

/** Lifetimes that hold for all clients, in seconds. */
const lifetimes = [
  ...['access_token_ttl_secs', 'id_token_ttl_secs', 'refresh_token_idle_ttl_secs', 'refresh_token_absolute_ttl_secs'],
] as const satisfies readonly string[]

const setting = (own: JsonValue | undefined, otherwise: EffectiveSetting): EffectiveSetting =>
  own === undefined ? otherwise : { value: own, from: 'client' }

/** Returns the settings that apply to a client, the absent ones too. */
export const effectiveSettings = (config: Config, client: Client): Settings => {
  const own = client as unknown as Readonly<Record<string, JsonValue | undefined>>
  const idToken = setting(client.id_token_signed_response_alg, {
    value: config.id_token_signing_alg,
    from: 'deployment',
  })
  const values = config as unknown as Readonly<Record<string, JsonValue>>
  return {
    id_token_signed_response_alg: idToken,
    authorization_signed_response_alg: setting(client.authorization_signed_response_alg, idToken),
    security_profile: {
      value: client.security_profile,
      from: client.security_profile === config.security_profile ? 'deployment' : 'client',
    },
    ...Object.fromEntries(
      Object.entries(defaults).map(([name, value]) => [name, setting(own[name], { value, from: 'default' })]),
    ),
    require_pushed_authorization_requests: config.require_pushed_authorization_requests
      ? { value: true, from: 'deployment' }
      : setting(client.require_pushed_authorization_requests, { value: false, from: 'default' }),
    access_token_signing_alg: { value: config.access_token_signing_alg, from: 'deployment' },
    ...Object.fromEntries(
      lifetimes.map((name) => [name, { value: values[name] ?? null, from: 'deployment' } satisfies EffectiveSetting]),
    ),
  }
}
