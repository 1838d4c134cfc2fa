import { fileURLToPath } from 'node:url'
import { importJWK } from 'jose'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeJws } from '../support/clients/attestation.js'
import { signIn } from '../support/clients/authorization.js'
import { newAssertionKey } from '../support/clients/client-assertion.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, redirectUri, startServer, subject, webClient, type TestServer } from '../support/server/server.js'

const login = fileURLToPath(new URL('../support/server/two-method-login.ts', import.meta.url))
const strong = 'urn:example:two-methods'
const twice = { ...person, password: `${person.password}#123456` }
const payment = { type: 'payment', amount: '12.34' }
const key = newAssertionKey()

type Parameters = Readonly<Record<string, string>>
type Challenge = Readonly<Record<string, string | undefined>>

describe('rich authorization requests, step-up and signed requests', () => {
  let server: TestServer
  let issuer: URL
  beforeAll(async () => {
    server = await startServer({
      configure: (written) => ({
        ...written,
        plugins: [
          ...(written['plugins'] as { use: string }[]).filter(({ use }) => !use.includes('login')),
          { use: login },
        ],
        acr_values_supported: [{ acr: strong, methods: ['pwd', 'otp'] }],
        userinfo: { acr_values: [strong] },
        authorization_details_types: [
          {
            type: 'payment',
            schema: { type: 'object', additionalProperties: false, properties: { amount: { type: 'string' } } },
          },
        ],
        clients: [{ ...webClient, jwks: { keys: [key.publicJwk] }, authorization_details_types: ['payment'] }],
      }),
    })
    issuer = new URL(server.issuer)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  describe('by openid-client', () => {
    const discover = () =>
      oidc.discovery(issuer, 'web', webClient.client_secret, oidc.ClientSecretBasic(), {
        execute: [oidc.allowInsecureRequests],
      })

    it('RA08 issues what was approved', async () => {
      const authorization_details = JSON.stringify([payment])
      const tokens = await signIn(await discover(), { authorization_details }, { authorization_details })
      expect(tokens.authorization_details).toEqual([payment])
    })

    it('RA10 refuses a higher amount at /token', async () => {
      const more = JSON.stringify([{ ...payment, amount: '12340' }])
      const asked = signIn(
        await discover(),
        { authorization_details: JSON.stringify([payment]) },
        { authorization_details: more },
      )
      await expect(asked).rejects.toMatchObject({ error: 'invalid_authorization_details', status: 400 })
    })

    it('ST06 signs in as the challenge of /userinfo requires', async () => {
      const client = await discover()
      const { access_token } = await signIn(client)
      const refused = await oidc.fetchUserInfo(client, access_token, subject).catch((error: unknown) => error)
      if (!(refused instanceof oidc.WWWAuthenticateChallengeError)) throw refused
      const parameters: Challenge = { ...refused.cause[0]?.parameters }
      expect(parameters['error']).toBe('insufficient_user_authentication')
      const verifier = oidc.randomPKCECodeVerifier()
      const url = oidc.buildAuthorizationUrl(client, {
        ...{ redirect_uri: redirectUri, scope: 'openid', acr_values: parameters['acr_values'] ?? '' },
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      const left = await new UserAgent().authorize(url, twice)
      const next = await oidc.authorizationCodeGrant(client, left, { pkceCodeVerifier: verifier })
      expect(next.claims()?.acr).toBe(strong)
      expect((await oidc.fetchUserInfo(client, next.access_token, subject)).sub).toBe(subject)
    })
  })

  describe('by oauth4webapi', () => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const client: oauth.Client = { client_id: 'web' }
    const authentication = oauth.ClientSecretBasic(webClient.client_secret)
    const discover = async () => oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
    const go = async (as: oauth.AuthorizationServer, asked: Parameters, who = person) => {
      const verifier = oauth.generateRandomCodeVerifier()
      const challenge = {
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }
      const parameters = new URLSearchParams({
        ...{
          client_id: 'web',
          redirect_uri: redirectUri,
          response_type: 'code',
          scope: 'openid',
          ...challenge,
          ...asked,
        },
      })
      const request =
        asked['sign'] === undefined
          ? parameters
          : new URLSearchParams({ client_id: 'web', request: await signRequest(as, parameters) })
      const left = await new UserAgent().authorize(`${String(as.authorization_endpoint)}?${request}`, who)
      const valid = oauth.validateAuthResponse(as, client, left, oauth.expectNoState)
      const response = await oauth.authorizationCodeGrantRequest(
        ...([as, client, authentication, valid, redirectUri, verifier, insecure] as const),
      )
      return oauth.processAuthorizationCodeResponse(as, client, response)
    }
    const signRequest = async (as: oauth.AuthorizationServer, parameters: URLSearchParams) => {
      const jwk = key.privateKey.export({ format: 'jwk' })
      const signing = { key: (await importJWK(jwk, 'ES256')) as CryptoKey, kid: key.kid }
      parameters.delete('sign')
      return oauth.issueRequestObject(as, client, parameters, signing)
    }

    it('RA08 issues what was approved in a signed request', async () => {
      const as = await discover()
      expect(as.authorization_details_types_supported).toEqual(['payment'])
      for (const more of [{}, { sign: 'yes' }]) {
        const tokens = await go(as, { authorization_details: JSON.stringify([payment]), ...more })
        expect(tokens.authorization_details).toEqual([payment])
        expect(decodeJws(tokens.access_token).payload['authorization_details']).toEqual([payment])
      }
    })

    it('ST06 signs in as the challenge of /userinfo requires', async () => {
      const as = await discover()
      const ask = async (token: string) =>
        oauth.processUserInfoResponse(as, client, subject, await oauth.userInfoRequest(as, client, token, insecure))
      const refused = await ask((await go(as, {})).access_token).catch((error: unknown) => error)
      if (!(refused instanceof oauth.WWWAuthenticateChallengeError)) throw refused
      const parameters: Challenge = { ...refused.cause[0]?.parameters }
      expect(parameters).toMatchObject({ error: 'insufficient_user_authentication', acr_values: strong })
      const next = await go(as, { acr_values: parameters['acr_values'] ?? '' }, twice)
      expect((await ask(next.access_token)).sub).toBe(subject)
    })
  })
})
