import { isLoopbackHost } from '../../config/fields.js'
import type { Config } from '../../config/schema.js'
import type { Principal } from '../attestation/ports.js'
import { clientCredentialsCommand, type DemoPage } from './page.js'
import type { ConfiguredNewAccount } from '../interaction/configured-accounts.js'
import type { Client } from '../oauth/clients/client.js'
import { cibaGrant } from '../oauth/ciba/request.js'
import { deviceCodeGrant } from '../oauth/grants/device-code.js'
import { personalScopes } from '../oauth/requests/scope.js'
import { hashOpaqueToken, newOpaqueToken } from '../opaque-token.js'

/** Clients and an account for trying the service. They live in memory, for as long as the process. */
export interface Demo {
  readonly clients: readonly Client[]
  readonly accounts: readonly ConfiguredNewAccount[]
  /** The data that the page on `/` shows and signs in with. */
  readonly page: DemoPage
  /** A command that gets a token. */
  readonly curl: string
  /** The principal that a browser enrols as. It is absent without the section `attestation`. */
  readonly device?: Principal
}

/**
 * Creates the clients and the account of a start without a configuration. The secret and the password are new at
 * every start; `configFile` is the file that the commands on the page name. Throws for an issuer off loopback, because
 * a service that others can reach must not have an account whose password is shown.
 */
export const createDemo = (
  config: Pick<Config, 'issuer' | 'scopes_supported' | 'attestation' | 'authorization_details_types'>,
  configFile: string,
): Demo => {
  const { issuer, scopes_supported } = config
  if (!isLoopbackHost(new URL(issuer).hostname)) throw new Error('The demo runs only with a loopback issuer.')
  const [secret, shopSecret] = [newOpaqueToken(), newOpaqueToken()]
  const apiScopes = scopes_supported.filter((scope) => !personalScopes.has(scope))
  const service: Client = {
    ...common,
    client_id: 'demo-service',
    client_name: 'Demo service',
    redirect_uris: [],
    grant_types: ['client_credentials'],
    response_types: [],
    scope: apiScopes,
    client_secret_sha256: hashOpaqueToken(secret),
  }
  const page: Client = {
    ...common,
    client_id: 'demo-page',
    client_name: 'Demo page',
    redirect_uris: [`${issuer}/`],
    post_logout_redirect_uris: [`${issuer}/`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: scopes_supported,
    token_endpoint_auth_method: 'none',
    authorization_details_types: config.authorization_details_types.map(({ type }) => type),
  }
  const television: Client = {
    ...page,
    client_id: 'demo-device',
    client_name: 'Demo television',
    redirect_uris: [],
    post_logout_redirect_uris: [],
    grant_types: [deviceCodeGrant, 'refresh_token'],
    response_types: [],
  }
  const shop: Client = {
    ...page,
    client_id: 'demo-shop',
    client_name: 'Demo shop',
    redirect_uris: [],
    post_logout_redirect_uris: [],
    grant_types: [cibaGrant],
    response_types: [],
    scope: scopes_supported.filter((scope) => personalScopes.has(scope) && scope !== 'offline_access'),
    token_endpoint_auth_method: 'client_secret_basic',
    client_secret_sha256: hashOpaqueToken(shopSecret),
  }
  const account = { ...person, password: newOpaqueToken().slice(0, 16) }
  const shown = { clientId: service.client_id, clientSecret: secret }
  const device: Principal = { subject: account.sub, principalId: 'demo-browser', principalType: 'device' }
  return {
    clients: [service, page, television, ...(config.attestation ? [shop] : [])],
    accounts: [account],
    page: {
      clientId: page.client_id,
      deviceClientId: television.client_id,
      scope: page.scope,
      username: account.username,
      password: account.password,
      service: shown,
      ...(config.attestation && {
        enrolment: { kind: deviceFactor, configFile, ...device },
        shop: { clientId: shop.client_id, clientSecret: shopSecret, scope: shop.scope },
      }),
    },
    curl: clientCredentialsCommand(issuer, shown),
    ...(config.attestation && { device }),
  }
}

/** The second factor of the demo's device, which is a secret that works once. */
export const deviceFactor = 'bootstrap_secret'

const common = { application_type: 'web', allowed_audiences: [], security_profile: 'oauth2', metadata: {} } as const

/** The person has every standard claim (OIDC Core §5.1). Names, numbers and hosts are those reserved for examples. */
const person = {
  username: 'demo',
  sub: 'demo-248289761001',
  claims: {
    name: 'Dana Q. Example',
    given_name: 'Dana',
    middle_name: 'Quinn',
    family_name: 'Example',
    nickname: 'Dee',
    preferred_username: 'demo',
    profile: 'https://example.com/dana',
    picture: 'https://example.com/dana/portrait.jpg',
    website: 'https://dana.example.com',
    email: 'dana@example.com',
    email_verified: true,
    gender: 'female',
    birthdate: '1990-03-14',
    zoneinfo: 'Europe/Vienna',
    locale: 'en-GB',
    phone_number: '+44 1632 960 123',
    phone_number_verified: false,
    address: {
      formatted: '1 Example Street\nSampletown 12345\nAustria',
      street_address: '1 Example Street',
      locality: 'Sampletown',
      postal_code: '12345',
      country: 'Austria',
    },
    updated_at: 1_767_225_600,
  },
} as const
