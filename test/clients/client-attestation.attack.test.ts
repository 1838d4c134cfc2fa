import { createPrivateKey } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newAssertionKey } from '../support/clients/client-assertion.js'
import {
  attesterIssuer,
  attesterKey,
  newInstance,
  secondKey,
  startAttestedClientServer,
  strangerKey,
  type AttestedClientServer,
} from '../support/server/attested-client-server.js'
import { createCertificateAuthority, type IssuedCertificate } from '../support/forge/certificates.js'
import { expectRefusal } from '../support/server/token-server.js'

let server: AttestedClientServer
beforeAll(async () => {
  server = await startAttestedClientServer()
})
afterEach(() => server.expectGood())
afterAll(() => server[Symbol.asyncDispose]())

const credentials = { grant_type: 'client_credentials' }

describe('client attestation', () => {
  it('AT01 attestation or proof missing: refused, even as a public client', async () => {
    const { attestation, proof } = server
    await server.expectRefused(attestation(), undefined)
    await server.expectRefused(undefined, proof())
    await server.expectRefused(undefined, proof(), { ...credentials, client_id: 'app' })
    await server.expectRefused(attestation(), undefined, { ...credentials, client_id: 'wallet' })
    await server.expectRefused(undefined, undefined, { ...credentials, client_id: 'wallet' })
  })

  it('AT02 a repeated header, or a value that is not a JWT', async () => {
    const { attestation, proof } = server
    const two = (name: string, other: Record<string, string>) => {
      const sent = new Headers(other)
      sent.append(name, name.endsWith('pop') ? proof() : attestation())
      sent.append(name, name.endsWith('pop') ? proof() : attestation())
      return Object.fromEntries(sent)
    }
    const form = new URLSearchParams(credentials).toString()
    for (const sent of [
      two('oauth-client-attestation', { 'oauth-client-attestation-pop': proof() }),
      two('oauth-client-attestation-pop', { 'oauth-client-attestation': attestation() }),
    ])
      expectRefusal(await server.host.token(form, sent), 401, 'invalid_client')
    for (const junk of ['x', 'a.b.c', '', `${attestation()}.`, `Bearer ${attestation()}`]) {
      await server.expectRefused(junk, proof())
      await server.expectRefused(attestation(), junk)
    }
  })

  it('AT03 another typ on either', async () => {
    const { attestation, proof } = server
    for (const typ of ['JWT', undefined, 'oauth-client-attestation-pop+jwt', 'client-authentication+jwt', 'dpop+jwt'])
      await server.expectRefused(attestation({}, { typ }), proof())
    for (const typ of ['JWT', undefined, 'oauth-client-attestation+jwt', 'dpop+jwt'])
      await server.expectRefused(attestation(), proof({}, { typ }))
  })

  it('AT04 an attester that is not trusted, or not for this client; keys in the header; alg none', async () => {
    const { attestation, proof, instance } = server
    await server.expectRefused(attestation({}, {}, strangerKey), proof())
    await server.expectRefused(attestation({}, {}, secondKey), proof())
    await server.expectRefused(attestation({}, { kid: undefined }, instance.key), proof())
    await server.expectRefused(attestation({}, { jwk: strangerKey.publicJwk }, strangerKey), proof())
    await server.expectRefused(attestation({ iss: 'https://evil.example' }), proof())
    await server.expectRefused(attestation({ iss: server.issuer }), proof())
    await server.expectRefused(attestation({}, { alg: 'none' }), proof())
    await server.expectRefused(attestation({}, { crit: ['b64'] }), proof())
    const rs256 = newAssertionKey('RS256', 'attester')
    await server.expectRefused(attestation({}, {}, rs256), proof())
    await server.expectRefused(attestation({ sub: 'second-wallet' }), proof())
    expect((await server.ask(attestation({ sub: 'second-wallet' }, {}, secondKey), proof())).status).toBe(200)
  })

  it('AT05 a client that is another, unknown, or registered another method', async () => {
    const { attestation, proof } = server
    await server.expectRefused(attestation({ sub: 'unknown' }), proof())
    for (const sub of [undefined, 1, ['wallet'], '']) await server.expectRefused(attestation({ sub }), proof())
    await server.expectRefused(attestation({ sub: 'dpop-wallet' }), proof())
    await server.expectRefused(attestation({ sub: 'service' }), proof())
    const answer = await server.ask(attestation(), proof(), { ...credentials, client_id: 'second-wallet' })
    expect(answer.status).toBeOneOf([400, 401])
    expect((await server.ask(attestation(), proof(), { ...credentials, client_id: 'wallet' })).status).toBe(200)
  })

  it('AT06 no key, a key with a private member, an invalid key', async () => {
    const { attestation, proof, instance } = server
    const { d } = instance.key.privateKey.export({ format: 'jwk' })
    for (const cnf of [
      undefined,
      {},
      { jkt: instance.jkt },
      { jwk: {} },
      { jwk: { ...instance.jwk, d } },
      { jwk: { ...instance.jwk, x: 'AAAA' } },
      { jwk: { ...instance.jwk, k: 'secret' } },
      { jwk: [instance.jwk] },
    ])
      await server.expectRefused(attestation({ cnf }), proof())
  })

  it('AT07 a proof by another key, or by the attester', async () => {
    const { attestation, proof } = server
    await server.expectRefused(attestation(), proof({}, {}, newInstance()))
    await server.expectRefused(attestation(), proof({}, {}, { ...newInstance(), key: attesterKey }))
    await server.expectRefused(attestation(), proof({}, { jwk: newInstance().jwk }, newInstance()))
    await server.expectRefused(attestation(), proof({}, { alg: 'none' }))
    await server.expectRefused(attestation(), proof({}, { alg: 'ES384' }))
  })

  it('AT08 a proof for another audience, of another client, too old or from the future', async () => {
    const { attestation, proof, issuer, seconds } = server
    for (const aud of [undefined, [issuer], [issuer, 'https://evil.example'], `${issuer}/token`, `${issuer}/`, 'x'])
      await server.expectRefused(attestation(), proof({ aud }))
    for (const iss of ['other', 1, [attesterIssuer]]) await server.expectRefused(attestation(), proof({ iss }))
    for (const iat of [undefined, 'now', seconds() - 3600, seconds() + 3600])
      await server.expectRefused(attestation(), proof({ iat }))
    await server.expectRefused(attestation(), proof({ exp: seconds() - 60 }))
    await server.expectRefused(attestation(), proof({ nbf: seconds() + 3600 }))
  })

  it('AT12 an attestation that has expired, is too old, or has no time', async () => {
    const { attestation, proof, seconds } = server
    for (const exp of [seconds() - 60, 0])
      expectRefusal(await server.ask(attestation({ iat: undefined, exp }), proof()), 400, 'use_fresh_attestation')
    for (const claims of [{ exp: undefined }, { exp: 'soon' }, { iat: seconds() + 3600 }, { nbf: seconds() + 3600 }])
      await server.expectRefused(attestation(claims), proof())
    await server.expectRefused(attestation({ exp: 0 }, {}, strangerKey), proof())
    await using brief = await startAttestedClientServer({ options: { max_age_secs: 600 } })
    const old = { iat: brief.seconds() - 700 }
    expectRefusal(await brief.ask(brief.attestation(old), brief.proof()), 400, 'use_fresh_attestation')
    await brief.expectRefused(brief.attestation({ iat: undefined }), brief.proof())
    await brief.expectGood()
  })

  it('AT15 another credential beside it', async () => {
    const { attestation, proof } = server
    const answer = await server.ask(attestation(), proof(), { ...credentials, client_secret: 'x', client_id: 'wallet' })
    expectRefusal(answer, 400, 'invalid_request')
  })

  it('AT16 the DPoP proof as the proof: by another key, used, or of another endpoint', async () => {
    const attested = server.attestation({ sub: 'dpop-wallet' })
    const ask = (dpop: string) => server.ask(attested, undefined, credentials, { dpop })
    const dpop = await server.dpop()
    const good = await ask(dpop)
    expect(good).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
    expectRefusal(await ask(dpop), 400, 'invalid_dpop_proof')
    expectRefusal(await ask(await server.dpop('/token', newInstance())), 401, 'invalid_client')
    expectRefusal(await ask(await server.dpop('/par')), 400, 'invalid_dpop_proof')
    expectRefusal(await ask(await server.dpop('/token', server.instance, { nonce: undefined })), 400, 'use_dpop_nonce')
    // Registered for the other form.
    expectRefusal(
      await server.ask(server.attestation(), undefined, credentials, { dpop: await server.dpop() }),
      401,
      'invalid_client',
    )
    const question = { token: String(good.body['access_token']) }
    const headers = { ...server.headers(attested, undefined), dpop: await server.dpop('/introspect') }
    expect((await server.post('/introspect', question, headers)).status).toBe(200)
    expectRefusal(await server.post('/introspect', question, headers), 400, 'invalid_dpop_proof')
  })

  it('AT18 a chain of certificates: under other roots, of another name, expired, of another key, missing', async () => {
    const authority = await createCertificateAuthority()
    const names = [{ type: 'dns', value: 'attester.example' }] as const
    const certificate = await authority.issue({ san: names })
    const roots = [authority.pem]
    await using chained = await startAttestedClientServer({
      options: { attesters: [{ clients: ['wallet'], roots, names: ['attester.example'] }] },
    })
    const keyOf = ({ keyPem }: IssuedCertificate) => ({ ...attesterKey, privateKey: createPrivateKey(keyPem) })
    const send = (x5c: unknown, by: IssuedCertificate = certificate) =>
      chained.ask(chained.attestation({}, { kid: undefined, x5c }, keyOf(by)), chained.proof())
    const base64 = ({ der }: IssuedCertificate) => der.toString('base64')
    expect((await send([base64(certificate)])).status).toBe(200)
    const stranger = await (await createCertificateAuthority()).issue({ san: names })
    const other = await authority.issue({ san: [{ type: 'dns', value: 'other.example' }] })
    const old = await authority.issue({ san: names, notAfter: new Date(Date.now() - 60_000) })
    for (const [x5c, by] of [
      [[base64(stranger)], stranger],
      [[base64(other)], other],
      [[base64(old)], old],
      [[base64(certificate)], stranger],
      [[base64(authority)], authority],
      [undefined, certificate],
      [[], certificate],
      ['x', certificate],
    ] as const)
      expectRefusal(await send(x5c, by), 401, 'invalid_client')
  })
})
