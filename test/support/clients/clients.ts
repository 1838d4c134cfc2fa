import { publicClient, redirectUri, serviceClient, webClient } from '../server/server.js'

export const api = 'https://api.example'

/** A second confidential client with the grants of the first. */
export const otherClient = {
  client_id: 'other',
  client_secret: 'other-secret-of-more-than-256-bits-for-tests',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
}
export const otherPublicClient = { ...publicClient, client_id: 'other-app' }
export const postClient = {
  client_id: 'post',
  client_secret: 'post-secret-of-more-than-256-bits-for-tests',
  token_endpoint_auth_method: 'client_secret_post',
  grant_types: ['client_credentials'],
  scope: 'read write',
}
/** As `service`, but held to Basic. */
export const basicClient = {
  ...serviceClient,
  client_id: 'basic',
  token_endpoint_auth_method: 'client_secret_basic',
}
/** Its secret has colons, blanks, a percent and a plus sign: what form-encoding is for. */
export const oddClient = {
  client_id: 'odd:client id+%41',
  client_secret: 'odd secret: of 100% more + than=256 bits & tests',
  grant_types: ['client_credentials'],
  scope: 'read',
}
export const disabledClient = { ...serviceClient, client_id: 'disabled', disabled: true }
/** Signs its userinfo answers. */
export const signedClient = { ...otherClient, client_id: 'signed', userinfo_signed_response_alg: 'ES256' }

export const secretExpiry = 4_000_000_000
export const expiringClient = { ...serviceClient, client_id: 'expiring', client_secret_expires_at: secretExpiry }

export const clients = [
  { ...webClient, allowed_audiences: [api, 'https://ledger.example'] },
  publicClient,
  serviceClient,
  otherClient,
  otherPublicClient,
  postClient,
  basicClient,
  oddClient,
  disabledClient,
  signedClient,
  expiringClient,
]

export interface Credentials {
  readonly client_id: string
  readonly client_secret?: string
}

const encode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

/** `Authorization: Basic` as RFC 6749 §2.3.1 has it: each part form-encoded first. */
export const basic = ({ client_id, client_secret = '' }: Credentials): string =>
  `Basic ${Buffer.from(`${encode(client_id)}:${encode(client_secret)}`).toString('base64')}`
