import { createHash } from 'node:crypto'
import {
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  buildAuthorizationUrlWithPAR,
  calculatePKCECodeChallenge,
  ClientError,
  fetchUserInfo,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
  type Configuration,
} from 'openid-client'
import {
  definePlugin,
  epochSeconds,
  Unavailable,
  type Answer,
  type JsonObject,
  type SignInAttempt,
  type SignInMethod,
  type SignInResult,
} from '../../../core/api/index.js'
import { readLogoutToken } from './logout-token.js'
import { options, type UpstreamOptions } from './options.js'
import { findAgeFault, hashedSubject, readPerson, theirsOf } from './person.js'
import { createUpstream, findOutage } from './upstream.js'

/** How long a session at the provider can be found by its id. */
const sessionSeconds = 30 * 86_400

/** The challenge itself is never sent, so what the browser sees reveals nothing about the PKCE verifier. */
const derive = ({ challenge }: SignInAttempt, use: 'nonce' | 'pkce'): string =>
  createHash('sha256').update(`${use}:${challenge}`).digest('base64url')

/** Values of `prompt` about signing in. Consent is asked for here. */
const passedOn: readonly string[] = ['login', 'select_account']

const parametersOf = async (attempt: SignInAttempt, configured: UpstreamOptions): Promise<Record<string, string>> => {
  const { prompt = '', maxAge, loginHint, acrValues, uiLocales } = attempt.request
  const optional = {
    prompt: prompt.split(' ').filter((value) => passedOn.includes(value)),
    acr_values: theirsOf(configured.acr, acrValues),
    ui_locales: uiLocales,
  }
  return {
    redirect_uri: attempt.callbackUrl,
    scope: configured.scope,
    state: attempt.id,
    nonce: derive(attempt, 'nonce'),
    code_challenge: await calculatePKCECodeChallenge(derive(attempt, 'pkce')),
    code_challenge_method: 'S256',
    ...(maxAge !== undefined && { max_age: String(maxAge) }),
    ...(loginHint !== undefined && { login_hint: loginHint }),
    ...Object.fromEntries(
      Object.entries(optional).flatMap(([name, values]) => (values.length === 0 ? [] : [[name, values.join(' ')]])),
    ),
  }
}

/** Why the provider's answer is refused, in constant words. Throws if it is an outage instead. */
const explain = (error: unknown): string => {
  const outage = findOutage(error)
  if (outage !== undefined) throw outage
  if (error instanceof AuthorizationResponseError)
    return error.error === 'access_denied' ? 'refused at the provider' : 'the provider answered with an error'
  if (error instanceof ResponseBodyError && error.error === 'invalid_grant') return 'the code is not good'
  if (error instanceof ResponseBodyError || error instanceof WWWAuthenticateChallengeError)
    throw new Unavailable('sign-in', 'unknown', 'The provider does not accept this client', { cause: error })
  if (error instanceof ClientError) return `the answer of the provider is not good: ${error.code ?? 'unknown'}`
  throw error
}

/** Sign-in at another OpenID Provider. Several can be configured, each with its own id. */
export default definePlugin({
  name: 'oidc',
  apiVersion: 1,
  options,
  needs: ['clock', 'log', 'outbound', 'issuerKeys', 'signedRequests', 'externalAccounts', 'clockToleranceSeconds'],
  create: (configured: UpstreamOptions, services) => {
    const { clock, log, externalAccounts: accounts, clockToleranceSeconds } = services
    const { id } = configured
    const upstream = createUpstream(configured, services)

    const claimsOf = async (config: Configuration, attempt: SignInAttempt, answer: Answer): Promise<JsonObject> => {
      const url = new URL(attempt.callbackUrl)
      for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value)
      const { maxAge } = attempt.request
      const tokens = await authorizationCodeGrant(config, url, {
        expectedState: attempt.id,
        expectedNonce: derive(attempt, 'nonce'),
        pkceCodeVerifier: derive(attempt, 'pkce'),
        idTokenExpected: true,
        ...(maxAge !== undefined && { maxAge }),
      })
      const claims = (tokens.claims() ?? {}) as JsonObject
      if (!configured.userinfo) return claims
      const more = await fetchUserInfo(config, tokens.access_token, tokens.claims()?.sub ?? '')
      return { ...(more as JsonObject), ...claims }
    }

    const method: SignInMethod = {
      id,
      kind: 'redirect',
      amr: Object.keys(configured.amr ?? {}),
      ...(configured.title && { title: configured.title }),
      ...(configured.logo !== undefined && { logo: configured.logo }),
      ...(configured.after && { after: configured.after }),
      async begin(attempt) {
        try {
          const config = await upstream.connect(attempt.signal)
          const parameters = await parametersOf(attempt, configured)
          const pushes = config.serverMetadata().pushed_authorization_request_endpoint !== undefined
          const url = pushes
            ? await buildAuthorizationUrlWithPAR(config, parameters)
            : buildAuthorizationUrl(config, parameters)
          return { kind: 'redirect', url: url.href, keep: { begun: epochSeconds(clock) } }
        } catch (error) {
          const reason = error instanceof Error ? error.message : 'unknown error'
          log.warn('a sign-in at an OpenID Provider cannot begin', { method: id, reason })
          throw findOutage(error) ?? new Unavailable('sign-in', 'no', 'The provider takes no request', { cause: error })
        }
      },
      async finish(attempt, answer): Promise<SignInResult> {
        let claims: JsonObject
        try {
          const config = await upstream.connect(attempt.signal)
          try {
            claims = await claimsOf(config, attempt, answer)
          } finally {
            upstream.remember(config)
          }
        } catch (error) {
          const why = explain(error)
          log.warn('a sign-in at an OpenID Provider failed', { method: id, reason: why })
          return { outcome: 'refused', why }
        }
        const { sid } = claims
        const person = readPerson(configured, claims)
        if (typeof person === 'string') return { outcome: 'refused', why: person }
        const { subject } = person
        const fault = findAgeFault(attempt, person, clockToleranceSeconds)
        if (fault !== undefined) return { outcome: 'refused', subject, why: fault }
        const { upstreamSub, claims: kept, ...known } = person
        // After a first method the person has shown whose account it is.
        const linksAccount = configured.links_accounts || attempt.passed?.subject === subject
        if (!linksAccount && (await accounts.isLocal(subject, attempt.signal)))
          return { outcome: 'refused', subject, why: 'the subject is an account of this deployment' }
        if (!(await accounts.keep(id, { subject, claims: kept })))
          return { outcome: 'refused', subject, why: 'the subject is one of another sign-in method' }
        if (configured.subject !== undefined) await accounts.name(id, `sub ${upstreamSub}`, subject)
        if (typeof sid === 'string') await accounts.name(id, `sid ${sid}`, subject, sessionSeconds)
        return { outcome: 'passed', ...known, ...(linksAccount && { linksAccount }) }
      },
      async endedElsewhere(logoutToken, signal) {
        const config = await upstream.connect(signal).catch((error: unknown) => {
          throw findOutage(error) ?? error
        })
        const { issuer, jwks_uri: jwksUri = '' } = config.serverMetadata()
        const { client_id: clientId } = configured
        const end = await readLogoutToken(logoutToken, { ...services, issuer, jwksUri, clientId })
        if (typeof end === 'string') return { fault: end }
        const { sub, sid, issuedAt, jti } = end
        const byHash = sub !== undefined && configured.subject === undefined ? hashedSubject(issuer, sub) : undefined
        const subject =
          byHash ??
          (sub === undefined ? undefined : await accounts.findByName(id, `sub ${sub}`)) ??
          (sid === undefined ? undefined : await accounts.findByName(id, `sid ${sid}`))
        return { subject, issuedAt, id: jti }
      },
    }
    const usesKey = configured.token_endpoint_auth_method === 'private_key_jwt'
    const alg = configured.client_assertion_signing_alg
    return {
      signIn: [method],
      accounts: { find: (subject) => accounts.find(id, subject) },
      ...(usesKey && { signedRequests: [{ purpose: 'client_authentication', alg }] }),
    }
  },
})
