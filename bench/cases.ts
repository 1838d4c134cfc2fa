import type { JwsAlg } from '../core/jose/jwk.js'
import { createProver } from '../test/support/clients/dpop-proof.js'
import {
  apiScope,
  codeVerifier,
  confidential,
  encrypted,
  pairwise,
  publicClient,
  redirectUri,
  signing,
  type CodeRequest,
  type Contestant,
} from './contestant.js'
import { completions, renewals } from './attestation-cases.js'
import type { Case, Collect } from './case.js'
import { basic, get, post } from './http.js'
import { boundToCertificate, fapiJourney, pushedCode } from './journeys.js'
import { assertionClaims, assertionType, signAssertion } from '../test/support/clients/client-assertion.js'

export const clientCredentials = (alg: JwsAlg, target: number | undefined): Case => ({
  name: `client_credentials ${alg}`,
  alg,
  target,
  prepare: async (server) => ({
    requests: [post(server.paths.token, { grant_type: 'client_credentials', scope: apiScope }, basic)],
    repeat: true,
  }),
})

/**
 * A new proof for each request, made in advance with the server's nonce: one verification of the client's key, one
 * signature, one remembered id.
 */
const bound: Case = {
  name: 'DPoP client_credentials ES256',
  alg: 'ES256',
  target: 3.5,
  prepare: async (server, count) => {
    const prover = createProver('ES256')
    // The peer builds `htu` from the request's Host.
    const host = `127.0.0.1:${server.port}`
    const url = `http://${host}${server.paths.token}`
    const form = { grant_type: 'client_credentials', scope: apiScope }
    const refused = await fetch(url, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { authorization: basic.slice(15).trim(), dpop: prover.proof(url, undefined) },
    })
    const nonce = refused.headers.get('dpop-nonce') ?? undefined
    const request = () => post(server.paths.token, form, `${basic}DPoP: ${prover.proof(url, nonce)}\r\n`, host)
    return { requests: Array.from({ length: count }, request), repeat: false }
  },
}

/** Each assertion works once: its signature is verified and its id remembered over all processes. */
const privateKeyJwt: Case = {
  name: 'private_key_jwt ES256',
  alg: 'ES256',
  target: 3.5,
  prepare: async (server, count) => {
    const { id, key } = signing
    const exp = Math.floor(Date.now() / 1000) + 290
    const requests = Array.from({ length: count }, () =>
      post(server.paths.token, {
        grant_type: 'client_credentials',
        scope: apiScope,
        client_assertion_type: assertionType,
        client_assertion: signAssertion(
          key,
          { alg: key.alg, kid: key.kid },
          assertionClaims(id, `http://127.0.0.1:${String(server.port)}`, Date.now(), { exp }),
        ),
      }),
    )
    return { requests, repeat: false }
  },
}

const redemption = (server: Contestant, code: string, clientId: string): string => {
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier }
  return clientId === confidential.id
    ? post(server.paths.token, form, basic)
    : post(server.paths.token, { ...form, client_id: clientId })
}

export const redemptions = async (
  server: Contestant,
  count: number,
  request: CodeRequest,
): Promise<readonly string[]> =>
  (await server.mintCodes(count, request)).map((code) => redemption(server, code, request.clientId))

/** Exchanges a code for an access token and an id_token: two signatures and one consumption. */
const code: Case = {
  name: 'code redemption',
  alg: 'ES256',
  target: 2.5,
  prepare: async (server, count) => ({
    requests: await redemptions(server, count, {
      clientId: confidential.id,
      scope: `openid ${apiScope}`,
      forResource: true,
    }),
    repeat: false,
  }),
}

/** The same for a public client, with the ID token encrypted to its key, or with a pairwise subject. */
const codeOf = (name: string, clientId: string, target: number): Case => ({
  ...{ name: `code redemption, ${name}`, alg: 'ES256', target },
  prepare: async (server, count) => ({
    requests: await redemptions(server, count, { clientId, scope: `openid ${apiScope}`, forResource: true }),
    repeat: false,
  }),
})

/** That many refresh tokens, each from another code. */
const refreshTokens = async (server: Contestant, count: number, collect: Collect, clientId: string) => {
  const request = { clientId, scope: `openid offline_access ${apiScope}`, forResource: true }
  return await collect(await redemptions(server, count, request), 'refresh_token')
}

const refreshForm = (token: string) => ({ grant_type: 'refresh_token', refresh_token: token })

/** For a public client, each token is rotated, so each works once. Two signatures and one rotation. */
const refresh: Case = {
  name: 'refresh, rotated',
  alg: 'ES256',
  target: 2.5,
  prepare: async (server, count, collect) => {
    const tokens = await refreshTokens(server, count, collect, publicClient.id)
    const form = (token: string) => ({ ...refreshForm(token), client_id: publicClient.id })
    return { requests: tokens.map((token) => post(server.paths.token, form(token))), repeat: false }
  },
}

/** For a confidential client, the token stays. */
const refreshKept: Case = {
  name: 'refresh, kept',
  alg: 'ES256',
  target: 2.5,
  prepare: async (server, _count, collect) => {
    const tokens = await refreshTokens(server, 64, collect, confidential.id)
    return { requests: tokens.map((token) => post(server.paths.token, refreshForm(token), basic)), repeat: true }
  },
}

/**
 * Signet verifies its JWT; the peer looks up an opaque token in its map, because its userinfo endpoint accepts no JWT
 * access tokens.
 */
const userinfo: Case = {
  name: 'userinfo',
  alg: 'ES256',
  target: undefined,
  prepare: async (server, _count, collect) => {
    const codes = await redemptions(server, 64, {
      clientId: confidential.id,
      scope: 'openid email',
      forResource: false,
    })
    const tokens = await collect(codes, 'access_token')
    return {
      requests: tokens.map((token) => get(server.paths.userinfo, `Authorization: Bearer ${token}\r\n`)),
      repeat: true,
    }
  },
}

/** The number of its own recent tokens that a process caches (`core/tokens/access-token-verifier.ts`). */
const recent = 16_000

/**
 * A resource server asks for a few tokens repeatedly, or for each once: soon after the process issued it, or after it
 * issued so many others that it has to verify it like one of another process. The peer looks up an opaque token in
 * its map, because it introspects no JWT access tokens.
 */
const introspection = (name: string, target: number | undefined, most: number, repeat = false): Case => ({
  name,
  alg: 'ES256',
  target,
  prepare: async (server, count, collect) => {
    const request = { clientId: confidential.id, scope: 'openid email', forResource: false }
    const tokens = await collect(await redemptions(server, Math.min(count, most), request), 'access_token')
    return { requests: tokens.map((token) => post(server.paths.introspection, { token }, basic)), repeat }
  },
})

/**
 * A service exchanges a user's token for one of its own: the subject token is verified as at introspection, then one
 * signature follows. A few subject tokens are used repeatedly.
 */
const tokenExchange: Case = {
  name: 'token exchange',
  alg: 'ES256',
  alone: true,
  target: undefined,
  prepare: async (server, _count, collect) => {
    const request = { clientId: confidential.id, scope: `openid ${apiScope}`, forResource: true }
    const tokens = await collect(await redemptions(server, 64, request), 'access_token')
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      scope: apiScope,
    }
    return {
      requests: tokens.map((token) => post(server.paths.token, { ...form, subject_token: token }, basic)),
      repeat: true,
    }
  },
}

const document = (name: string, path: (server: Contestant) => string): Case => ({
  name,
  alg: 'ES256',
  target: 2.4,
  prepare: async (server) => ({ requests: [get(path(server))], repeat: true }),
})

export const cases: readonly Case[] = [
  clientCredentials('ES256', 4),
  clientCredentials('EdDSA', 3.3),
  clientCredentials('RS256', 1.8),
  clientCredentials('ES384', undefined),
  { ...clientCredentials('ES256', 2), name: 'client_credentials ES256, key in SoftHSM', keysIn: 'softhsm' },
  bound,
  privateKeyJwt,
  code,
  codeOf('ID token by ECDH-ES', encrypted['ECDH-ES'], 1.3),
  codeOf('ID token by RSA-OAEP-256', encrypted['RSA-OAEP-256'], 1.3),
  codeOf('pairwise subject', pairwise.id, 2.5),
  refresh,
  refreshKept,
  userinfo,
  introspection('introspection', 3, 64, true),
  introspection('introspection, each token once', undefined, recent),
  introspection('introspection, each token once, long after', undefined, Infinity),
  tokenExchange,
  pushedCode,
  fapiJourney,
  boundToCertificate,
  completions,
  renewals('attestation: renewals', false),
  renewals('attestation: renewals, with the registry', true),
  document('jwks', (server) => server.paths.keySet),
  document('discovery', (server) => server.paths.discovery),
]

/** Cases that depend on the stores: Signet on its embedded one, then both servers on MongoDB and Redis. */
export const storeCases: readonly Case[] = [code, refresh, bound, pushedCode, fapiJourney].flatMap((entry) => [
  { ...entry, name: `${entry.name} on embedded`, alone: true as const, target: undefined },
  { ...entry, name: `${entry.name} on MongoDB + Redis`, stores: true as const, target: entry === pushedCode ? 2.5 : 2 },
])
