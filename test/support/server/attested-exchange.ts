import { randomUUID } from 'node:crypto'
import type { Device } from '../clients/attestation.js'
import { api, basic, type Credentials } from '../clients/clients.js'
import { startAttestationServer, type AttestationServerOptions } from './attestation-server.js'
import type { Answer } from './token-server.js'

type Json = Record<string, unknown>

export const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const attestationType = 'urn:signet:params:oauth:token-type:attestation'

/** May show attestations of devices and of services. */
export const fleet = {
  client_id: 'fleet',
  client_secret: 'fleet-secret-of-more-than-256-bits-for-these-tests',
  grant_types: [grantType],
  scope: 'read write',
  allowed_audiences: [api],
}
/** May show those of services alone. */
export const servicesOnly = { ...fleet, client_id: 'services', client_secret: `${fleet.client_secret}-services` }
/** May show none. */
export const withoutPolicy = { ...fleet, client_id: 'plain', client_secret: `${fleet.client_secret}-plain` }
export const publicFleet = { client_id: 'public-fleet', token_endpoint_auth_method: 'none', grant_types: [grantType] }

const policy = { device: ['read'], service: ['read', 'write', 'unregistered'] }
export const options = {
  clients: {
    fleet: { attestation_scope: policy },
    services: { attestation_scope: { service: ['read'] } },
    'public-fleet': { attestation_scope: policy },
  },
}

const withAttestedExchange = (written: Json): Json => ({
  ...written,
  token_exchange_enabled: true,
  plugins: [...(written['plugins'] as Json[]), { use: 'plugins/grants/token-exchange', options }],
  clients: [...(written['clients'] as Json[]), fleet, servicesOnly, withoutPolicy, publicFleet],
})

type Form = Readonly<Record<string, string | undefined>>

/** The ceremony, and the exchange of what it gives. */
export const startAttestedExchange = async (more: AttestationServerOptions = {}) => {
  const { configure = (written: Json) => written } = more
  const server = await startAttestationServer({
    status: true,
    ...more,
    configure: (written) => configure(withAttestedExchange(written)),
  })
  const { host, issuer } = server
  const freshNonce = async (): Promise<string> => {
    const answer = await host.token({ grant_type: grantType }, { authorization: basic(fleet), dpop: 'x' })
    return answer.headers.get('dpop-nonce') ?? ''
  }

  /** A DPoP proof of this request by the device's key, but for what is wished. */
  const proof = async (by: Pick<Device, 'sign' | 'jwk'>, claims: Json = {}): Promise<string> =>
    by.sign(
      {
        htm: 'POST',
        htu: `${issuer}/token`,
        iat: Math.floor(host.now() / 1000),
        jti: randomUUID(),
        nonce: await freshNonce(),
        ...claims,
      },
      { typ: 'dpop+jwt', alg: 'ES256', jwk: by.jwk },
    )

  return {
    ...server,
    proof,
    /** `dpop: undefined` sends none. */
    exchange(client: Credentials, form: Form, dpop: string | undefined): Promise<Answer> {
      const shown = { grant_type: grantType, subject_token_type: attestationType, resource: api, ...form }
      return host.token(shown, { authorization: basic(client), ...(dpop !== undefined && { dpop }) })
    },
    /** The honest request of a device. */
    async show(device: Device, attestation: string, client: Credentials = fleet, form: Form = {}): Promise<Answer> {
      return this.exchange(client, { subject_token: attestation, ...form }, await proof(device))
    },
  }
}

export type AttestedExchange = Awaited<ReturnType<typeof startAttestedExchange>>
