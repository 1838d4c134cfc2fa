import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRemoteJWKSet, type JWSHeaderParameters } from 'jose'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createDevice, memoryStore, type ClientProof } from '../../libraries/device/index.js'
import { decodeJws, type Device } from '../support/clients/attestation.js'
import { forge } from '../support/forge/forge.js'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { expectRefusal, postForm, type Answer } from '../support/server/token-server.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

type Json = Record<string, unknown>

const fleet = {
  client_id: 'fleet',
  token_endpoint_auth_method: 'attest_jwt_client_auth',
  grant_types: ['client_credentials'],
  scope: 'read',
}

let server: AttestationServer
beforeAll(async () => {
  server = await startAttestationServer({
    section: {
      client_attestations: [
        { client_id: 'vip', principal_type: 'device', subjects: ['carol'] },
        { client_id: 'fleet', principal_type: 'device' },
      ],
    },
    configure: (written) => ({
      ...written,
      plugins: [
        ...(written['plugins'] as Json[]),
        { use: 'plugins/client-auth/client-attestation', options: { own_clients: ['fleet'] } },
      ],
      clients: [...(written['clients'] as Json[]), fleet, { ...fleet, client_id: 'vip' }],
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const seconds = () => Math.floor(server.host.now() / 1000)

/** What `/enrol/complete` answers. */
const enrolled = async (device: Device): Promise<Json> => (await device.complete(await device.challenge())).body

const proofOf = (
  device: Device,
  audience: string,
  claims: Json = {},
  typ = 'oauth-client-attestation-pop+jwt',
): Promise<string> =>
  device.sign({ aud: audience, iat: seconds(), jti: randomUUID(), ...claims }, { typ, alg: 'ES256' })

const authenticate = async (issuer: string, attestation: unknown, proof: string): Promise<Answer> =>
  postForm(
    `${issuer}/token`,
    { grant_type: 'client_credentials', client_id: String(decodeJws(String(attestation)).payload['sub']) },
    { 'oauth-client-attestation': String(attestation), 'oauth-client-attestation-pop': proof },
  )

describe('an attestation of the client beside that of the device', () => {
  it('names the client and the key, ends with the device attestation, and identifies no person', async () => {
    const device = await server.device({ subject: 'alice', principal_id: 'phone-of-alice' })
    const body = await enrolled(device)
    const { header, payload } = decodeJws(String(body['client_attestation']))
    const other = decodeJws(String(body['attestation']))
    expect(header).toEqual({ alg: 'ES256', kid: other.header['kid'], typ: 'oauth-client-attestation+jwt' })
    expect(payload).toEqual({
      iss: server.issuer,
      sub: 'fleet',
      // A second may begin between the two.
      iat: expect.any(Number),
      exp: other.payload['exp'],
      cnf: { jwk: device.jwk },
    })
    const lines = await server.host.server.audit()
    expect(lines.filter(({ event }) => event === 'attestation.issued').at(-1)).toMatchObject({
      did: 'phone-of-alice',
      client_id: 'fleet',
    })
    const signed = lines.filter(({ event }) => event === 'attestation.signed').at(-1)
    expect((signed?.['signatures'] as Json[]).map(({ typ }) => typ)).toEqual([
      'device-attestation+jwt',
      'oauth-client-attestation+jwt',
    ])
  })

  it('follows the first matching rule, and is omitted if none matches', async () => {
    const vip = await enrolled(await server.device({ subject: 'carol', principal_id: 'phone-of-carol' }))
    expect(decodeJws(String(vip['client_attestation'])).payload['sub']).toBe('vip')
    const service = await enrolled(await server.device({ principal_type: 'service', principal_id: 'meter' }))
    expect(Object.keys(service)).toEqual(['attestation', 'expires_in', 'reissue_after'])
  })

  it('is issued with a renewal, too', async () => {
    const device = await server.device({ principal_id: 'phone-2' })
    const asked = await device.reissue(await device.attest())
    const { body } = await device.complete(asked.body['challenge'])
    expect(decodeJws(String(body['client_attestation'])).payload).toMatchObject({
      sub: 'fleet',
      cnf: { jwk: device.jwk },
    })
  })

  it('AT17 authenticates the client here, for the clients that the options name', async () => {
    const device = await server.device({ principal_id: 'phone-3' })
    const { client_attestation: attestation } = await enrolled(device)
    expect((await authenticate(server.issuer, attestation, await proofOf(device, server.issuer))).status).toBe(200)
    for (const typ of spellingsOf('oauth-client-attestation-pop+jwt')) {
      const proof = await proofOf(device, server.issuer, {}, typ)
      expect((await authenticate(server.issuer, attestation, proof)).status, typ).toBe(200)
    }
    const stranger = await server.device({ principal_id: 'phone-4' })
    const stolen = await authenticate(server.issuer, attestation, await proofOf(stranger, server.issuer))
    expectRefusal(stolen, 401, 'invalid_client')
    const vip = await server.device({ subject: 'carol', principal_id: 'phone-of-carol' })
    const { client_attestation: ofVip } = await enrolled(vip)
    expectRefusal(await authenticate(server.issuer, ofVip, await proofOf(vip, server.issuer)), 401, 'invalid_client')
    const key = await server.host.key()
    const { header, payload } = decodeJws(String(attestation))
    for (const [changedHeader, changedClaims, status] of [
      [{}, {}, 200],
      ...spellingsOf('oauth-client-attestation+jwt').map((typ) => [{ typ }, {}, 200] as const),
      [{ typ: 'device-attestation+jwt' }, {}, 401],
      [{}, { iss: `${server.issuer}/` }, 401],
      [{}, { exp: seconds() - 60, iat: seconds() - 120 }, 400],
    ] as const) {
      const forged = forge(key, { ...header, ...changedHeader }, { ...payload, ...changedClaims })
      expect((await authenticate(server.issuer, forged, await proofOf(device, server.issuer))).status).toBe(status)
    }
    expectNamed(await device.reissue(attestation), 'AttestationInvalid')
  })
})

describe('the library for devices', () => {
  it('authenticates the client by the two headers, each pair once, and with a challenge', async () => {
    const device = createDevice({ issuer: server.issuer, store: memoryStore(), clock: server.host.now })
    const secondFactor = { kind: 'word', value: 'right' }
    await device.enrol({ subject: 'alice', principalId: 'library-1', principalType: 'device', secondFactor })
    const ask = async (headers: ClientProof) =>
      postForm(`${server.issuer}/token`, { grant_type: 'client_credentials', client_id: 'fleet' }, { ...headers })
    const proof = await device.clientProof({ audience: server.issuer })
    expect((await ask(proof)).status).toBe(200)
    expectRefusal(await ask(proof), 401, 'invalid_client')
    const answer = await fetch(`${server.issuer}/challenge`, { method: 'POST' })
    const { attestation_challenge: challenge } = (await answer.json()) as Record<string, string>
    const fresh = await device.clientProof({ audience: server.issuer, challenge: String(challenge) })
    expect(decodeJws(fresh['OAuth-Client-Attestation-PoP']).payload['challenge']).toBe(challenge)
    expect((await ask(fresh)).status).toBe(200)
    expectRefusal(await ask(await device.clientProof({ audience: 'https://other.example' })), 401, 'invalid_client')
    await expect(device.signAsWorkload(new Request('https://a.example'))).rejects.toMatchObject({
      errorCode: 'NotIssued',
    })
    await device.forget()
  })
})

describe('oidc-provider, another authorization server', () => {
  let peer: Server
  let issuer: string
  beforeAll(async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    vi.spyOn(console, 'info').mockImplementation(() => undefined)
    const { Provider } = await import('oidc-provider')
    peer = createServer().listen(0, '127.0.0.1')
    await once(peer, 'listening')
    issuer = `http://127.0.0.1:${String((peer.address() as AddressInfo).port)}`
    const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
    const features = {
      clientCredentials: { enabled: true },
      dPoP: { enabled: false },
      devInteractions: { enabled: false },
      attestClientAuth: {
        enabled: true,
        ack: 'draft-12',
        challengeSecret: Buffer.alloc(32, 7),
        getAttestationSignaturePublicKey: async (_ctx: unknown, header: JWSHeaderParameters, payload: Json) => {
          if (payload['iss'] !== server.issuer) throw new Error('not an attester that is trusted')
          return keys(header)
        },
        assertAttestationJwtAndPop: () => undefined,
      },
    }
    const provider = new Provider(issuer, {
      clients: [
        { ...fleet, token_endpoint_auth_method: 'attest_jwt_client_auth', redirect_uris: [], response_types: [] },
      ],
      scopes: ['read'],
      clientAuthMethods: ['attest_jwt_client_auth'],
      features: features as never,
    })
    const answer = provider.callback()
    peer.on('request', (request, response) => void answer(request, response))
  })
  afterAll(() => {
    vi.restoreAllMocks()
    peer.close()
    peer.closeAllConnections()
  })

  it('accepts it with the requested challenge, and refuses a proof by another key', async () => {
    const device = await server.device({ principal_id: 'phone-5' })
    const { client_attestation: attestation } = await enrolled(device)
    const first = await authenticate(issuer, attestation, await proofOf(device, issuer))
    expect(first).toMatchObject({ status: 400, body: { error: 'use_attestation_challenge' } })
    const challenge = first.headers.get('oauth-client-attestation-challenge')
    const accepted = await authenticate(issuer, attestation, await proofOf(device, issuer, { challenge }))
    expect(accepted).toMatchObject({ status: 200, body: { token_type: 'Bearer' } })
    const other = await server.device({ principal_id: 'phone-6' })
    const refused = await authenticate(issuer, attestation, await proofOf(other, issuer, { challenge }))
    expect(refused).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  })
})
