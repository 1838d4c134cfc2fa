import { assertionClaims, assertionType, signAssertion } from '../test/support/clients/client-assertion.js'
import { createProver } from '../test/support/clients/dpop-proof.js'
import { createCertificateAuthority } from '../test/support/forge/certificates.js'
import type { Case } from './case.js'
import {
  apiScope,
  codeChallenge,
  codeVerifier,
  confidential,
  fapi,
  mutualTls,
  redirectUri,
  type Contestant,
} from './contestant.js'
import { basic, post } from './http.js'
import { ofAnswer } from './load.js'

/** Returns the request with which a client sends a form to an endpoint. Clients authenticate in different ways. */
type Send = (path: string, form: Record<string, string>) => string

/** Three requests in sequence: push, redirect of a person who is signed in and has consented, redeem. */
const journey = (server: Contestant, clientId: string, cookie: string, send: Send): readonly string[] => [
  send(server.paths.pushedAuthorizationRequest, {
    ...{ client_id: clientId, response_type: 'code', redirect_uri: redirectUri },
    ...{ scope: `openid ${apiScope}`, state: 'af0ifjsldkj' },
    ...{ code_challenge: codeChallenge, code_challenge_method: 'S256' },
  }),
  `GET ${server.paths.authorization}?client_id=${clientId}&request_uri=${ofAnswer.requestUri} HTTP/1.1\r\nHost: 127.0.0.1:${String(server.port)}\r\nCookie: ${cookie}\r\n\r\n`,
  send(server.paths.token, {
    ...{ grant_type: 'authorization_code', code: ofAnswer.code, redirect_uri: redirectUri },
    code_verifier: codeVerifier,
  }),
]

/** Two signatures, one pushed request used up, one code used up. */
export const pushedCode: Case = {
  name: 'PAR + authorize + code',
  alg: 'ES256',
  target: 1.4,
  prepare: async (server) => {
    const host = `127.0.0.1:${String(server.port)}`
    const send: Send = (path, form) => post(path, form, basic, host)
    const cookie = await server.signIn(confidential.id)
    return { requests: [journey(server, confidential.id, cookie, send)], repeat: true }
  },
}

/** The same with `private_key_jwt` and DPoP with a nonce: four more verifications. */
export const fapiJourney: Case = {
  name: 'FAPI journey',
  alg: 'ES256',
  target: undefined,
  prepare: async (server, count) => {
    const host = `127.0.0.1:${String(server.port)}`
    const issuer = `http://${host}`
    const prover = createProver('ES256')
    const exp = Math.floor(Date.now() / 1000) + 290
    const credentials = () => ({
      ...{ client_id: fapi.id, client_assertion_type: assertionType },
      client_assertion: signAssertion(
        fapi.key,
        { alg: fapi.key.alg, kid: fapi.key.kid },
        assertionClaims(fapi.id, issuer, Date.now(), { exp }),
      ),
    })
    const refused = await fetch(issuer + server.paths.token, {
      method: 'POST',
      body: new URLSearchParams({ ...credentials(), grant_type: 'authorization_code', code: 'none' }),
      headers: { dpop: prover.proof(issuer + server.paths.token, undefined) },
    })
    const nonce = refused.headers.get('dpop-nonce') ?? undefined
    const send: Send = (path, form) =>
      post(path, { ...form, ...credentials() }, `DPoP: ${prover.proof(issuer + path, nonce)}\r\n`, host)
    const cookie = await server.signIn(fapi.id)
    return { requests: Array.from({ length: count }, () => journey(server, fapi.id, cookie, send)), repeat: false }
  },
}

const certificate = createCertificateAuthority().then((root) => root.issue({ subject: [{ CN: [mutualTls.id] }] }))

/**
 * The proxy has verified the certificate and sends it in a header, where it is read, compared with the registration,
 * and bound.
 */
export const boundToCertificate: Case = {
  name: 'mTLS client_credentials behind a header',
  alg: 'ES256',
  target: 2,
  certificates: true,
  prepare: async (server) => {
    const header = `X-SSL-Cert: ${encodeURIComponent((await certificate).pem)}\r\n`
    const form = { grant_type: 'client_credentials', scope: apiScope, client_id: mutualTls.id }
    return { requests: [post(server.paths.token, form, header)], repeat: true }
  },
}
