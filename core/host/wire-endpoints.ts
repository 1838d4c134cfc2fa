import type { InjectionToken } from 'tsyringe'
import { createAssets } from '../endpoints/assets.js'
import { createFlow } from '../endpoints/authorization-flow/flow.js'
import type { AuthorizationOptions } from '../endpoints/authorization-flow/options.js'
import { createAuthorizationEndpoint } from '../endpoints/authorize/index.js'
import { createDiscovery } from '../endpoints/discovery.js'
import { createHome } from '../endpoints/home.js'
import { createConsentPage } from '../endpoints/interaction/consent.js'
import { createLoginPage } from '../endpoints/interaction/login.js'
import { createIntrospect } from '../endpoints/introspect.js'
import { createKeySet } from '../endpoints/key-set.js'
import type { Endpoint } from '../endpoints/message.js'
import { createRevoke } from '../endpoints/revoke.js'
import { createToken } from '../endpoints/token.js'
import { createUserinfo } from '../endpoints/userinfo.js'
import type { Endpoints } from '../http/routes.js'
import { createPlaces } from '../interaction/places.js'
import type { OwnTokenVerification } from '../tokens/verify-own-token.js'
import { createClientAuthentication } from '../oauth/client-authentication.js'
import { deviceCodeGrant } from '../oauth/device-code.js'
import { createGrantIndex } from '../oauth/grant-index.js'
import { createSecretGuesses } from '../oauth/secret-guesses.js'
import { packageVersion } from '../package-root.js'
import { verifyIdTokenHint } from '../tokens/id-token-hint.js'
import { createIdentifyToken } from '../tokens/identify-token.js'
import { createRedeem } from '../tokens/redeem.js'
import { enabledGrants } from './checks/enabled-grants.js'
import { grantEntryLifetime, grantLifetime } from '../keys/lifecycle/open-ring.js'
import { tokens } from './injection-tokens.js'
import { traceClientAuthentication } from './instruments/traced.js'
import { wireAttestation } from './wire-attestation.js'
import { wireDevice } from './wire-device.js'

export type Resolve = <T>(token: InjectionToken<T>) => T

export const assetsPath = (issuer: string): string => `${new URL(issuer).pathname.replace(/\/$/, '')}/assets`

/** What our own tokens are verified by, whichever kind they are of. */
export const verificationOf = (get: Resolve): OwnTokenVerification => ({
  ring: get(tokens.publishedKeys),
  issuer: get(tokens.config).issuer,
  clock: get(tokens.clock),
  toleranceSeconds: get(tokens.config).clock_tolerance_secs,
})

/** The endpoints of one generation, from the bottom up. */
export const wireEndpoints = (get: Resolve): Endpoints => {
  const config = get(tokens.config)
  const clock = get(tokens.clock)
  const audit = get(tokens.audit)
  const refusals = get(tokens.refusals)
  const ring = get(tokens.ring)
  const issuer = get(tokens.issuer)
  const clients = get(tokens.clients)
  const { grants, clientAuthenticators, login } = get(tokens.registries)
  const stored = get(tokens.collections)
  const { codes, deviceCodes, families, revocations, sessions, interactions, consents, secrets, occupancy } = stored
  const grantIndex = createGrantIndex({ store: stored.grantIndex, clock, lifetime: grantEntryLifetime(config) })
  const switchedOn = enabledGrants(config, grants.keys())
  const enabled = new Map([...grants].filter(([name]) => switchedOn.includes(name)))
  const verification = verificationOf(get)

  const dpop = get(tokens.dpop)
  const authenticateClient = traceClientAuthentication(
    createClientAuthentication({
      authenticators: clientAuthenticators,
      clients,
      guesses: createSecretGuesses(stored.attempts),
    }),
    get(tokens.options).tracing,
  )
  const accessTokenVerifier = get(tokens.accessTokenVerifier)
  const identify = createIdentifyToken({ accessTokenVerifier, families })

  const { rate_limits: rates } = config
  const limits = get(tokens.rateLimits)
  const byAddress = (name: 'authorize' | 'device_verify' | 'interaction' | 'documents', page: Endpoint) =>
    limits.byAddress(name, rates[name].address_per_minute, page)
  /** Of what machines call, so that an address whose requests are all refused is soon told so. */
  const protocol = (name: 'token' | 'introspect' | 'revoke' | 'userinfo' | 'device_authorization', machine: Endpoint) =>
    limits.byRefusals(rates.refused.address_per_minute, limits.byAddress(name, rates[name].address_per_minute, machine))
  const token = createToken({
    authenticateClient: limits.byClient('token', rates.token.client_per_minute, authenticateClient),
    grants: enabled,
    login,
    defaultAudience: config.default_audience,
    tokens: issuer,
    redeem: createRedeem({
      revokedGrants: get(tokens.revokedGrants),
      codes,
      deviceCodes,
      families,
      grantIndex,
      revocations,
      login,
      clients,
      audit,
      clock,
      refreshIdleTtl: config.refresh_token_idle_ttl_secs,
      refreshAbsoluteTtl: config.refresh_token_absolute_ttl_secs,
      grantLifetime: grantLifetime(config),
    }),
    audit,
    refusals,
    dpop,
  })
  const introspect = createIntrospect({
    issuer: config.issuer,
    authenticateClient: limits.byClient('introspect', rates.introspect.client_per_minute, authenticateClient),
    identify,
    clients,
    login,
    revocations,
    tokens: issuer,
    signingAlg: config.id_token_signing_alg,
    signingAlgs: () => ring.algorithms('introspection'),
    audit,
    refusals,
    clock,
  })
  const revoke = createRevoke({
    authenticateClient,
    identify,
    families,
    revocations,
    audit,
    refusals,
    clock,
    toleranceSeconds: config.clock_tolerance_secs,
    grantLifetime: grantLifetime(config),
  })
  const discovery = createDiscovery({
    issuer: config.issuer,
    scopes: config.scopes_supported,
    claims: config.claims_supported,
    responseTypes: config.response_types_supported,
    grantTypes: [...enabled.keys()],
    userinfo: login !== undefined,
    clientAuthMethods: [...clientAuthenticators.keys()],
    dpopAlgs: dpop.algs,
    idTokenAlgs: () => ring.algorithms('id_token'),
    userinfoAlgs: () => ring.algorithms('userinfo'),
    introspectionAlgs: () => ring.algorithms('introspection'),
  })
  const assets = get(tokens.assets)
  const { demo } = get(tokens.options)
  const home = createHome({
    issuer: config.issuer,
    name: 'Signet',
    version: packageVersion,
    assetsPath: assetsPath(config.issuer),
    assets,
    ...(demo && { demo: demo.page }),
  })
  const machine = {
    discovery: byAddress('documents', discovery),
    keySet: byAddress('documents', createKeySet(ring)),
    token: protocol('token', token),
    introspect: protocol('introspect', introspect),
    revoke: protocol('revoke', revoke),
    home: byAddress('documents', home),
    asset: byAddress('documents', createAssets(assets)),
    attestation: wireAttestation(config, {
      ring,
      clock,
      audit,
      refusals,
      registries: get(tokens.registries),
      stored,
      evidence: get(tokens.evidence),
      rateLimits: limits,
    }),
  }
  if (login === undefined) return machine

  const userinfo = createUserinfo({
    accessTokenVerifier,
    audiences: [config.issuer, config.default_audience],
    clients,
    login,
    revocations,
    tokens: issuer,
    audit,
    refusals,
    dpop,
  })
  /** How many of one thing an address may have open. */
  const open = (limit: string, { address_open: most }: { readonly address_open: number }) =>
    createPlaces({ occupancy, limit, most, hits: limits.hits })
  const authorization: AuthorizationOptions = {
    issuer: config.issuer,
    defaultAudience: config.default_audience,
    scopesSupported: config.scopes_supported,
    claimsSupported: config.claims_supported,
    codeTtlSeconds: config.authorization_code_ttl_secs,
    sessionTtlSeconds: config.session_ttl_secs,
    clock,
    audit,
    refusals,
    login,
    pages: get(tokens.pages),
    clients,
    verifyIdTokenHint: (text) => verifyIdTokenHint(text, verification),
    codes,
    sessions,
    sessionIndex: stored.sessionIndex,
    grantIndex,
    interactions,
    openSignIns: open('authorize_open', rates.authorize),
    consents,
    secrets,
    revocations,
  }
  const flow = createFlow(authorization)
  const device =
    enabled.has(deviceCodeGrant) &&
    wireDevice(config, authorization, flow, authenticateClient, stored, open('device_open', rates.device_authorization))
  return {
    ...machine,
    ...(device && {
      device: {
        authorization: protocol('device_authorization', device.authorization),
        // Both store what a sign-in is about before anybody has signed in.
        page: byAddress('authorize', device.page),
        verify: byAddress('device_verify', device.verify),
      },
    }),
    interactive: {
      userinfo: protocol('userinfo', userinfo),
      authorize: byAddress('authorize', createAuthorizationEndpoint(authorization, flow)),
      login: byAddress('interaction', createLoginPage(authorization, flow)),
      consent: byAddress('interaction', createConsentPage(authorization, flow)),
    },
  }
}
