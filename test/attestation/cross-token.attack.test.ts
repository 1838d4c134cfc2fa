import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, decodeJws, withAttestation, type Device } from '../support/clients/attestation.js'
import { assertionType } from '../support/clients/client-assertion.js'
import { createProver } from '../support/clients/dpop-proof.js'
import { webClient } from '../support/server/server.js'
import { expectNamed } from '../support/server/attestation-server.js'
import { basic, signedClient } from '../support/clients/clients.js'
import {
  accessType,
  gateway,
  idType,
  startExchangeServer,
  withExchange,
  type ExchangeServer,
  type Issued,
} from '../support/server/exchange-server.js'
import { forge } from '../support/forge/forge.js'
import { read } from '../support/server/token-server.js'

// Every token that we mint at /reissue (row 20), and an attestation at every other door (row 21).

let host: ExchangeServer
let alice: Issued
let device: Device
let attestation: string
beforeAll(async () => {
  host = await startExchangeServer((written) => withAttestation()(withExchange(written)))
  alice = await host.signIn()
  device = await createDevice(host.server.issuer)
  attestation = await device.attest()
})
afterAll(() => host[Symbol.asyncDispose]())

const introspect = async (token: string, headers: Record<string, string> = {}) => {
  const authorization = basic(webClient)
  const body = new URLSearchParams({ token })
  return read(
    await fetch(`${host.server.issuer}/introspect`, { method: 'POST', body, headers: { authorization, ...headers } }),
  )
}

/** A DPoP-bound access token: it has `cnf.jkt`, as an attestation has. */
const boundToken = async (): Promise<string> => {
  const prover = createProver()
  const url = `${host.server.issuer}/token`
  const ask = (nonce: string | undefined) =>
    host.token({ grant_type: 'client_credentials' }, { authorization: basic(gateway), dpop: prover.proof(url, nonce) })
  const nonce = (await ask(undefined)).headers.get('dpop-nonce') ?? ''
  const { body } = await ask(nonce)
  expect(body['token_type']).toBe('DPoP')
  return String(body['access_token'])
}

const userinfoJwt = async (): Promise<string> => {
  const { code } = await host.mint.code({ clientId: signedClient.client_id })
  const { body } = await host.redeem(code, {}, signedClient)
  const answer = await host.userinfo(String(body['access_token']))
  expect(answer.headers.get('content-type')).toBe('application/jwt')
  return answer.text
}

describe('row 20: at /reissue', () => {
  it.each<[string, () => string | Promise<string>]>([
    ['an access token', () => alice.access],
    ['an id_token', () => alice.id],
    ["a client's own access token", () => host.own(gateway)],
    ['a DPoP-bound access token', boundToken],
    [
      'an exchanged token',
      async () => {
        const form = { subject_token: alice.access, subject_token_type: accessType }
        return String((await host.exchange(gateway, form)).body['access_token'])
      },
    ],
    ['a signed userinfo answer', userinfoJwt],
    [
      'a signed introspection answer',
      async () => (await introspect(alice.access, { accept: 'application/token-introspection+jwt' })).text,
    ],
    [
      'a refresh token',
      async () => {
        const { code } = await host.mint.code({ clientId: 'app' })
        return String((await host.redeem(code, {}, { client_id: 'app' })).body['refresh_token'])
      },
    ],
    ['a challenge', () => device.challenge()],
    ['a proof of possession', async () => device.sign({ challenge: await device.challenge() })],
  ])('%s', async (_name, make) => {
    const token = await make()
    expect(token.length).toBeGreaterThan(20)
    expectNamed(await device.reissue(token), 'AttestationInvalid')
    await device.renew(attestation)
  })

  it('any of them with the type of an attestation', async () => {
    const key = await host.key()
    for (const token of [alice.access, alice.id, await boundToken()]) {
      const { header, payload } = decodeJws(token)
      const typ = 'device-attestation+jwt'
      expectNamed(await device.reissue(forge(key, { ...header, typ }, payload)), 'AttestationInvalid')
      const claims = { ...payload, cnf: { jkt: device.jkt } }
      expectNamed(await device.reissue(forge(key, { ...header, typ }, claims)), 'AttestationInvalid')
    }
  })
})

describe('row 21: an attestation', () => {
  it('is refused at /userinfo', async () => {
    expect((await host.userinfo(attestation)).status).toBe(401)
    const proof = createProver().proof(`${host.server.issuer}/userinfo`, undefined)
    const headers = { authorization: `DPoP ${attestation}`, dpop: proof }
    expect((await fetch(`${host.server.issuer}/userinfo`, { headers })).status).toBe(401)
  })

  it('is not active', async () => {
    for (const hint of ['access_token', 'refresh_token', undefined]) {
      const body = new URLSearchParams({ token: attestation, ...(hint && { token_type_hint: hint }) })
      const headers = { authorization: basic(webClient) }
      const answer = await read(await fetch(`${host.server.issuer}/introspect`, { method: 'POST', body, headers }))
      expect(answer).toMatchObject({ status: 200, text: '{"active":false}' })
    }
  })

  it('cannot be exchanged', async () => {
    for (const type of [accessType, idType, 'urn:ietf:params:oauth:token-type:jwt']) {
      const subject = { subject_token: attestation, subject_token_type: type }
      expect((await host.exchange(gateway, subject)).body['error']).toBe('invalid_request')
      const actor = { subject_token: alice.access, subject_token_type: accessType }
      const answer = await host.exchange(gateway, { ...actor, actor_token: attestation, actor_token_type: type })
      expect(answer.body['error']).toBe('invalid_request')
    }
  })

  it('neither authenticates a client nor proves a key', async () => {
    const form = {
      grant_type: 'client_credentials',
      client_assertion_type: assertionType,
      client_assertion: attestation,
    }
    expect(await host.token(form)).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(await host.token({ ...form, client_id: 'alice' })).toMatchObject({ status: 401 })
    const answer = await host.token(
      { grant_type: 'client_credentials' },
      { authorization: basic(gateway), dpop: attestation },
    )
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } })
  })

  it('is not accepted as a hint, a code, a refresh token or a proof of a challenge', async () => {
    const query = new URLSearchParams({
      client_id: 'web',
      redirect_uri: 'https://client.example/cb',
      response_type: 'code',
      scope: 'openid',
      state: 's',
      id_token_hint: attestation,
    })
    const response = await fetch(`${host.server.issuer}/authorize?${query.toString()}`, { redirect: 'manual' })
    expect(response.headers.get('location')).toContain('error=invalid_request')
    expect(await host.redeem(attestation)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect(await host.refresh(attestation)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    const challenge = await device.challenge()
    expectNamed(await device.complete(challenge, attestation), 'ChallengeSignatureInvalid')
  })

  it('cannot be revoked at /revoke', async () => {
    const body = new URLSearchParams({ token: attestation })
    const headers = { authorization: basic(webClient) }
    expect((await fetch(`${host.server.issuer}/revoke`, { method: 'POST', body, headers })).status).toBe(200)
    await device.renew(attestation)
  })
})

it('discovery and the key set reveal nothing but the key', async () => {
  const document = (await (await fetch(`${host.server.issuer}/.well-known/openid-configuration`)).json()) as object
  expect(JSON.stringify(document)).not.toMatch(/attest|enrol|reissue/)
})
