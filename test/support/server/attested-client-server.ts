import { createHash, randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { newAssertionKey, signAssertion, type AssertionKey } from '../clients/client-assertion.js'
import {
  expectRefusal,
  postForm,
  startTokenServer,
  type Answer,
  type Form,
  type TokenServerOptions,
} from './token-server.js'

type Json = Record<string, unknown>

/** Signs what vouches for instances. */
export const attesterKey = newAssertionKey('ES256', 'attester')
/** Has the name of the attester's key, and is another one. */
export const strangerKey = newAssertionKey('ES256', 'attester')
/** Vouches for instances of `second-wallet` alone. */
export const secondKey = newAssertionKey('ES256', 'second')

export const attesterIssuer = 'https://attester.example'

const wallet = {
  client_id: 'wallet',
  token_endpoint_auth_method: 'attest_jwt_client_auth',
  grant_types: ['client_credentials', 'authorization_code', 'refresh_token'],
  redirect_uris: ['https://wallet.example/callback'],
  scope: 'openid read offline_access',
}

/** An instance of a client: a key, for which somebody vouches. */
export interface Instance {
  readonly key: AssertionKey
  readonly jwk: Json
  readonly jkt: string
}

export const newInstance = (): Instance => {
  const key = newAssertionKey('ES256')
  const { crv, kty, x, y } = key.publicJwk
  const jwk = { kty, crv, x, y }
  const jkt = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
  return { key, jwk, jkt }
}

export interface AttestedServerOptions extends TokenServerOptions {
  readonly options?: Json
}

/** A server with clients whose instances are attested. */
export const startAttestedClientServer = async ({ options = {}, configure, ...more }: AttestedServerOptions = {}) => {
  const plugin = {
    use: 'plugins/client-auth/client-attestation',
    options: {
      attesters: [
        { issuer: attesterIssuer, clients: ['wallet', 'dpop-wallet'], jwks: { keys: [attesterKey.publicJwk] } },
        { clients: ['second-wallet'], jwks: { keys: [secondKey.publicJwk] } },
      ],
      ...options,
    },
  }
  const host = await startTokenServer({
    ...more,
    configure: (written) => {
      const whole = {
        ...written,
        plugins: [...(written['plugins'] as Json[]), plugin],
        clients: [
          ...(written['clients'] as Json[]),
          wallet,
          { ...wallet, client_id: 'dpop-wallet', token_endpoint_auth_method: 'attest_jwt_client_auth_dpop' },
          { ...wallet, client_id: 'second-wallet' },
        ],
      }
      return configure?.(whole) ?? whole
    },
  })
  const { issuer } = host.server
  const seconds = () => Math.floor(host.now() / 1000)
  const instance = newInstance()

  const attestation = (claims: Json = {}, header: Json = {}, by: AssertionKey = attesterKey): string =>
    signAssertion(
      by,
      { typ: 'oauth-client-attestation+jwt', alg: by.alg, kid: by.kid, ...header },
      { sub: 'wallet', iat: seconds(), exp: seconds() + 3600, cnf: { jwk: instance.jwk }, ...claims },
    )
  const proof = (claims: Json = {}, header: Json = {}, by: Instance = instance): string =>
    signAssertion(
      by.key,
      { typ: 'oauth-client-attestation-pop+jwt', alg: 'ES256', ...header },
      { aud: issuer, iat: seconds(), jti: randomUUID(), ...claims },
    )
  const headers = (attested: string | undefined, proven: string | undefined): Record<string, string> => ({
    ...(attested !== undefined && { 'oauth-client-attestation': attested }),
    ...(proven !== undefined && { 'oauth-client-attestation-pop': proven }),
  })
  const form = { grant_type: 'client_credentials' }
  const ask = (
    attested?: string,
    proven?: string,
    more: Form = form,
    others: Record<string, string> = {},
  ): Promise<Answer> => host.token(more, { ...headers(attested, proven), ...others })

  return {
    host,
    issuer,
    instance,
    seconds,
    attestation,
    proof,
    headers,
    ask,
    post: (path: string, form: Form, headers: Record<string, string> = {}) => postForm(issuer + path, form, headers),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
    /** A DPoP proof of `POST path`. */
    async dpop(path = '/token', by: Instance = instance, claims: Json = {}): Promise<string> {
      const { headers: answered } = await host.token(form, { dpop: 'x', ...headers(attestation(), proof()) })
      return signAssertion(
        by.key,
        { typ: 'dpop+jwt', alg: 'ES256', jwk: by.jwk },
        {
          ...{ htm: 'POST', htu: `${issuer}${path}`, iat: seconds(), jti: randomUUID() },
          nonce: answered.get('dpop-nonce'),
          ...claims,
        },
      )
    },
    async challenge(): Promise<string> {
      const answer = await fetch(`${issuer}/challenge`, { method: 'POST' })
      expect(answer.headers.get('cache-control')).toBe('no-store')
      return String(((await answer.json()) as Json)['attestation_challenge'])
    },
    async expectGood(): Promise<void> {
      expect(await ask(attestation(), proof())).toMatchObject({ status: 200 })
    },
    async expectRefused(attested?: string, proven?: string, more: Form = form): Promise<void> {
      const answer = await ask(attested, proven, more)
      expectRefusal(answer, 401, 'invalid_client')
      expect(answer.body['error_description']).toBe('Client authentication failed.')
    },
  }
}

export type AttestedClientServer = Awaited<ReturnType<typeof startAttestedClientServer>>
