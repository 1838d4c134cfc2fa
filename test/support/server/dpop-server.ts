import { expect } from 'vitest'
import { redirectUri, serviceClient, subject } from './server.js'
import { accessTokenHash, createProver, type Prover, type Wish } from '../clients/dpop-proof.js'
import { basic } from '../clients/clients.js'
import { verifier } from '../forge/mint.js'
import {
  expectRefusal,
  read,
  startTokenServer,
  type Answer,
  type TokenServer,
  type TokenServerOptions,
} from './token-server.js'

export const boundClient = { ...serviceClient, client_id: 'bound', dpop_bound_access_tokens: true }

type Headers = Readonly<Record<string, string>>

export const expectBadProof = (answer: Answer): void => {
  expectRefusal(answer, 400, 'invalid_dpop_proof')
  expect(answer.headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/)
}

export interface DpopServer {
  readonly host: TokenServer
  readonly prover: Prover
  readonly tokenUrl: string
  readonly userinfoUrl: string
  /** A nonce as a first request without one gets it. */
  nonce(): Promise<string>
  /** client_credentials with this header `DPoP`. */
  ask(proof: string | undefined, more?: Headers): Promise<Answer>
  /** A proof for `/token` with a good nonce. */
  proof(wish?: Wish, prover?: Prover): Promise<string>
  /** A token of `app` for a person, bound to the prover's key. */
  boundToken(): Promise<string>
  /** GET `/userinfo`. */
  userinfo(authorization: string, proof?: string): Promise<Answer>
  /** A proof for GET `/userinfo`, with `ath` and nonce. */
  userinfoProof(token: string, wish?: Wish, prover?: Prover): Promise<string>
  /** A good request at both endpoints. */
  expectGood(): Promise<void>
}

export const startDpopServer = async (options: TokenServerOptions = {}): Promise<DpopServer> => {
  const { configure = (written) => written } = options
  const host = await startTokenServer({
    ...options,
    configure: (written) => configure({ ...written, clients: [...(written['clients'] as object[]), boundClient] }),
  })
  const prover = createProver('ES256', host.now)
  const tokenUrl = `${host.server.issuer}/token`
  const userinfoUrl = `${host.server.issuer}/userinfo`

  const ask: DpopServer['ask'] = (proof, more = {}) =>
    host.token(
      { grant_type: 'client_credentials' },
      { authorization: basic(serviceClient), ...(proof !== undefined && { dpop: proof }), ...more },
    )
  const nonce = async (): Promise<string> => {
    const answer = await ask(createProver('ES256', host.now).proof(tokenUrl, undefined))
    expect(answer.body['error']).toBe('use_dpop_nonce')
    return answer.headers.get('dpop-nonce') ?? ''
  }
  const proof: DpopServer['proof'] = async (wish, by = prover) => by.proof(tokenUrl, await nonce(), wish)
  const userinfoProof: DpopServer['userinfoProof'] = async (token, wish = {}, by = prover) =>
    by.proof(userinfoUrl, await nonce(), {
      ...wish,
      claims: { htm: 'GET', ath: accessTokenHash(token), ...wish.claims },
    })
  const boundToken: DpopServer['boundToken'] = async () => {
    const { code } = await host.mint.code({ clientId: 'app' })
    const form = { grant_type: 'authorization_code', client_id: 'app', code, redirect_uri: redirectUri }
    const answer = await host.token({ ...form, code_verifier: verifier }, { dpop: await proof() })
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
    return String(answer.body['access_token'])
  }
  const userinfo: DpopServer['userinfo'] = async (authorization, sent) =>
    read(await fetch(userinfoUrl, { headers: { authorization, ...(sent !== undefined && { dpop: sent }) } }))

  return {
    host,
    prover,
    tokenUrl,
    userinfoUrl,
    nonce,
    ask,
    proof,
    boundToken,
    userinfo,
    userinfoProof,
    async expectGood() {
      const answer = await ask(await proof())
      expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
      const token = await boundToken()
      const claims = await userinfo(`DPoP ${token}`, await userinfoProof(token))
      expect(claims).toMatchObject({ status: 200, body: { sub: subject } })
      expect(claims.headers.get('dpop-nonce')).toBeTypeOf('string')
    },
  }
}
