import {
  compactDecrypt,
  createRemoteJWKSet,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  jwtVerify,
  type CryptoKey,
  type JWK,
} from 'jose'
import * as oidc from 'openid-client'
import { beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { openLogoutReceiver } from '../support/clients/logout-receiver.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { person, redirectUri, startServer, subject, webClient, type TestServer } from '../support/server/server.js'
import { jsonAnswer, noAnswers, openSite, type Site } from '../support/server/site.js'

type Json = Record<string, unknown>

const methods = [
  ['RSA-OAEP-256', 'A256GCM'],
  ['RSA-OAEP-256', undefined],
  ['ECDH-ES', 'A256GCM'],
  ['ECDH-ES+A256KW', 'A128CBC-HS256'],
] as const

interface Reader {
  readonly client: Json & { readonly client_id: string; readonly client_secret: string }
  readonly key: CryptoKey
}

const newReader = async (clientId: string, alg: string, enc: string | undefined, more: Json = {}): Promise<Reader> => {
  const { publicKey, privateKey } = await generateKeyPair(alg, { crv: 'P-256', extractable: true })
  const signing = await generateKeyPair('ES256', { extractable: true })
  const jwks = {
    keys: [
      { ...(await exportJWK(signing.publicKey)), use: 'sig', kid: 'sig' },
      { ...(await exportJWK(publicKey)), use: 'enc', kid: `enc-${clientId}` },
    ],
  }
  const members = ['id_token', 'userinfo', 'introspection', 'authorization'].flatMap((answer) => [
    [`${answer}_encrypted_response_alg`, alg],
    ...(enc === undefined ? [] : [[`${answer}_encrypted_response_enc`, enc]]),
  ])
  const client = {
    ...{ ...webClient, client_id: clientId, consent: 'implicit', jwks, userinfo_signed_response_alg: 'ES256' },
    ...(Object.fromEntries(members) as Json),
    ...more,
  }
  return { client, key: privateKey }
}

describe('what is signed for a client is encrypted to it (JWE)', () => {
  const keep = disposeAfterAll()
  const time = { ahead: 0 }
  let server: TestServer
  let keys: Site
  let logouts: Awaited<ReturnType<typeof openLogoutReceiver>>
  let readers: readonly Reader[]
  let rotating: Reader
  let published: JWK[]
  beforeAll(async () => {
    keys = keep(await openSite())
    logouts = await openLogoutReceiver(keep)
    const hears = { backchannel_logout_uri: logouts.uri }
    readers = await Promise.all(methods.map(([alg, enc], index) => newReader(`reader-${index}`, alg, enc, hears)))
    rotating = await newReader('rotating', 'ECDH-ES', undefined, hears)
    published = (rotating.client['jwks'] as { keys: JWK[] }).keys
    keys.answer = (...call) => jsonAnswer({ keys: published })(...call)
    const withoutKeys = { ...rotating.client, jwks: undefined }
    server = keep(
      await startServer({
        clock: () => Date.now() + time.ahead,
        configure: (written) => ({
          ...written,
          outbound: { allow_private_addresses: true },
          access_token_ttl_secs: 3600,
          clients: [
            ...readers.map(({ client }) => client),
            { ...withoutKeys, jwks_uri: `${keys.url}/jwks.json` },
            {
              ...withoutKeys,
              client_id: 'plain',
              jwks: { keys: published },
              id_token_encrypted_response_alg: undefined,
            },
          ],
        }),
      }),
    )
  })

  const post = async (path: string, { client }: Pick<Reader, 'client'>, form: Record<string, string>, more = {}) => {
    const headers = { authorization: basic(client), ...more }
    return fetch(server.issuer + path, { method: 'POST', headers, body: new URLSearchParams(form) })
  }
  const getCode = async ({ client }: Pick<Reader, 'client'>, agent = new UserAgent()) => {
    const left = await agent.authorize(authorizeUrl(server.issuer, { client_id: client.client_id }), person)
    return left.searchParams.get('code') ?? ''
  }
  const redeem = async (reader: Pick<Reader, 'client'>, code: string) => {
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
    const response = await post('/token', reader, form)
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }
  /** What is inside, verified. */
  const open = async ({ client, key }: Reader, encrypted = '') => {
    const { plaintext, protectedHeader } = await compactDecrypt(encrypted, key)
    const jwks = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
    const { payload } = await jwtVerify(plaintext, jwks, { issuer: server.issuer, audience: client.client_id })
    return { payload, protectedHeader }
  }

  it.each(methods.map((method, index) => [...method, index] as const))(
    'by %s and %s: ID token, userinfo, introspection, JARM',
    async (alg, enc, index) => {
      const reader = readers[index] as Reader
      const header = { alg, enc: enc ?? 'A128CBC-HS256', cty: 'JWT', kid: `enc-reader-${index}` }
      const { body } = await redeem(reader, await getCode(reader))
      const id = await open(reader, body['id_token'])
      expect(id.payload).toMatchObject({ sub: subject, at_hash: expect.any(String) as string })
      expect(id.protectedHeader).toMatchObject(header)
      expect(decodeProtectedHeader(body['access_token'] ?? '')).toMatchObject({ typ: 'at+jwt' })

      const bearer = { authorization: `Bearer ${body['access_token']}` }
      const userinfo = await fetch(`${server.issuer}/userinfo`, { headers: bearer })
      expect(userinfo.headers.get('content-type')).toBe('application/jwt')
      const released = await open(reader, await userinfo.text())
      expect(released).toMatchObject({ payload: { sub: subject }, protectedHeader: header })

      const accept = 'application/token-introspection+jwt'
      const asked = await post('/introspect', reader, { token: body['access_token'] ?? '' }, { accept })
      expect(asked.headers.get('content-type')).toBe(accept)
      const answer = await open(reader, await asked.text())
      expect(answer.payload['token_introspection']).toMatchObject({ active: true, sub: subject })

      const url = authorizeUrl(server.issuer, { client_id: reader.client.client_id, response_mode: 'jwt' })
      const left = await new UserAgent().authorize(url, person)
      const response = await open(reader, left.searchParams.get('response') ?? '')
      expect(response.payload['code']).toEqual(expect.any(String))
    },
  )

  it('openid-client reads an encrypted ID token', async () => {
    const reader = readers[2] as Reader
    const { client_id, client_secret } = reader.client
    const metadata = { id_token_signed_response_alg: 'ES256' }
    const config = await oidc.discovery(
      new URL(server.issuer),
      client_id,
      metadata,
      oidc.ClientSecretBasic(client_secret),
      {
        execute: [oidc.allowInsecureRequests],
      },
    )
    oidc.enableDecryptingResponses(config, ['A256GCM'], { key: reader.key, alg: 'ECDH-ES', kid: 'enc-reader-2' })
    const left = await new UserAgent().authorize(authorizeUrl(server.issuer, { client_id }), person)
    const tokens = await oidc.authorizationCodeGrant(config, left, { pkceCodeVerifier: verifier })
    expect(tokens.claims()?.sub).toBe(subject)
  })

  it('EN04 a key behind jwks_uri that was rotated is found within a minute', async () => {
    const { body } = await redeem(rotating, await getCode(rotating))
    expect((await open(rotating, body['id_token'])).payload.sub).toBe(subject)
    const next = await newReader('rotating', 'ECDH-ES', undefined)
    published = (next.client['jwks'] as { keys: JWK[] }).keys
    time.ahead += 61_000
    const after = await redeem(rotating, await getCode(rotating))
    expect((await open(next, after.body['id_token'])).payload.sub).toBe(subject)
  })

  it('EN05 keys that cannot be fetched are an outage that burns no code', async () => {
    const agent = new UserAgent()
    const access = (await redeem(rotating, await getCode(rotating, agent))).body['access_token'] ?? ''
    time.ahead += 601_000
    const fresh = await getCode(rotating, agent)
    keys.answer = noAnswers['answers 500'] as Site['answer']
    expect((await redeem(rotating, fresh)).status).toBe(503)
    const bearer = { authorization: `Bearer ${access}` }
    expect((await fetch(`${server.issuer}/userinfo`, { headers: bearer })).status).toBe(503)
    const accept = 'application/token-introspection+jwt'
    expect((await post('/introspect', rotating, { token: access }, { accept })).status).toBe(503)
    const signed = authorizeUrl(server.issuer, { client_id: 'rotating', response_mode: 'jwt' })
    const { response, left } = await agent.follow(signed)
    expect([response.status, left]).toEqual([503, undefined])
    keys.answer = (...call) => jsonAnswer({ keys: published })(...call)
    time.ahead += 11_000
    expect((await redeem(rotating, fresh)).status).toBe(200)
  })

  it('EN06 a set without a key that says use enc gets nothing encrypted to another, and burns no code', async () => {
    const [signing, encryption] = published
    published = [
      signing as JWK,
      { ...(encryption as JWK), use: 'sig' },
      { ...(encryption as JWK), alg: 'ECDH-ES+A256KW' },
    ]
    time.ahead += 61_000
    const code = await getCode(rotating)
    expect(await redeem(rotating, code)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: 'The client has no key to encrypt to.' },
    })
    published = [signing as JWK, encryption as JWK]
    time.ahead += 59_000
    const again = await redeem(rotating, code)
    expect(again.body['error']).toBe('invalid_request')
  })

  it('EN07 a hint is the JWT from inside; the JWE is refused', async () => {
    const reader = readers[1] as Reader
    const agent = new UserAgent()
    const encrypted = (await redeem(reader, await getCode(reader, agent))).body['id_token'] ?? ''
    const inside = Buffer.from((await compactDecrypt(encrypted, reader.key)).plaintext).toString()
    const { client_id } = reader.client
    const ask = async (id_token_hint: string) =>
      (await agent.follow(authorizeUrl(server.issuer, { client_id, prompt: 'none', id_token_hint }))).left?.searchParams
    expect((await ask(inside))?.has('code')).toBe(true)
    expect((await ask(encrypted))?.get('error')).toBe('invalid_request')
    const signOut = (id_token_hint: string) =>
      agent.follow(`${server.issuer}/logout?${new URLSearchParams({ id_token_hint })}`)
    expect((await signOut(encrypted)).response.status).toBe(400)
    expect((await signOut(inside)).response.status).toBe(200)
    expect((await ask(inside))?.get('error')).toBe('login_required')
  })

  it('EN08 a logout token is encrypted as ID tokens are; without a key it is tried again, and nothing goes in the clear', async () => {
    const agent = new UserAgent()
    published = [published[0] as JWK]
    keys.answer = jsonAnswer({ keys: published })
    await getCode(readers[3] as Reader, agent)
    await getCode(rotating, agent)
    time.ahead += 61_000
    const form = await agent.follow(`${server.issuer}/logout`)
    await agent.submit(form.url, await form.response.text(), {})
    const wrapped = () => logouts.tokens().filter((token) => decodeProtectedHeader(token).alg === 'ECDH-ES+A256KW')
    await expect.poll(wrapped).toHaveLength(1)
    const { payload, protectedHeader } = await open(readers[3] as Reader, wrapped()[0])
    expect(payload).toMatchObject({ sub: subject, sid: expect.any(String) as string })
    expect(protectedHeader).toMatchObject({ alg: 'ECDH-ES+A256KW', enc: 'A128CBC-HS256', cty: 'JWT' })
    const undelivered = async () => (await server.audit()).filter(({ event }) => event === 'logout.undelivered')
    await expect
      .poll(() => {
        time.ahead += 20_000
        return undelivered()
      })
      .toMatchObject([{ client_id: 'rotating', reason: 'The client has no key to encrypt to.' }])
    expect(logouts.tokens().every((token) => token.split('.').length === 5)).toBe(true)
  })
})
