import { instanceCachingFactory, type DependencyContainer, type InjectionToken } from 'tsyringe'
import { createEvidenceChallenges } from '../attestation/evidence-challenges.js'
import { createAssets } from '../endpoints/assets.js'
import { createAuthorize, type AuthorizeOptions } from '../endpoints/authorize/index.js'
import { createDiscovery } from '../endpoints/discovery.js'
import { createHome } from '../endpoints/home.js'
import { createIntrospect } from '../endpoints/introspect.js'
import { createKeySet } from '../endpoints/key-set.js'
import type { Endpoint } from '../endpoints/message.js'
import { createRateLimits } from '../endpoints/rate-limits.js'
import { createRevoke } from '../endpoints/revoke.js'
import { createToken } from '../endpoints/token.js'
import { createUserinfo } from '../endpoints/userinfo.js'
import type { Endpoints } from '../http/routes.js'
import { loadAssets } from '../interaction/assets.js'
import { createPages } from '../interaction/pages/create-pages.js'
import { createPasswordHasher } from '../interaction/password-hasher.js'
import type { OwnTokenExpectation } from '../keys/verify-own-token.js'
import { createClientAuthentication } from '../oauth/client-authentication.js'
import { createClientKeys } from '../oauth/client-keys.js'
import { createIssuerKeys } from '../oauth/issuer-keys.js'
import { createOutboundFetch } from '../oauth/outbound-fetch.js'
import { createRemoteKeySets } from '../oauth/remote-key-sets.js'
import { createOutbound } from '../oauth/webhook.js'
import { createDpop } from '../oauth/dpop.js'
import { packageVersion } from '../package-root.js'
import { createAccessTokenVerifier } from '../tokens/access-token-verifier.js'
import { createIdentifyToken } from '../tokens/introspection.js'
import { deviceCodeGrant } from '../oauth/device-code.js'
import { createTokenIssuer } from '../tokens/issuer.js'
import { verifyIdTokenHint } from '../tokens/id-token-hint.js'
import { createRedeem } from '../tokens/redeem.js'
import { collections } from './collections.js'
import { wireAttestation } from './wire-attestation.js'
import { wireDevice } from './wire-device.js'
import { enabledGrants } from './enabled-grants.js'
import { createOwnTokens } from './own-tokens.js'
import { grantLifetime } from './open-ring.js'
import { openPrincipals } from './principals.js'
import { readCodes, readDeviceCodes, readRefreshTokens } from './services.js'
import { tokens } from './tokens.js'
import { traceClientAuthentication } from './traced.js'

type Resolve = <T>(token: InjectionToken<T>) => T

const assetsPath = (issuer: string): string => `${new URL(issuer).pathname.replace(/\/$/, '')}/assets`

/** One factory for each thing, made when it is first asked for, and once. */
const providerFor =
  (container: DependencyContainer) =>
  <T>(token: InjectionToken<T>, make: (get: Resolve) => T): void => {
    container.register(token, { useFactory: instanceCachingFactory((from) => make((wanted) => from.resolve(wanted))) })
  }

/** What our own tokens are verified by, whichever kind they are of. */
const verificationOf = (get: Resolve): Omit<OwnTokenExpectation, 'typ'> => ({
  ring: get(tokens.publishedKeys),
  issuer: get(tokens.config).issuer,
  clock: get(tokens.clock),
  toleranceSeconds: get(tokens.config).clock_tolerance_secs,
})

/** Registers what follows from what the start has opened, and stays. */
export const wire = (container: DependencyContainer): void => {
  const provide = providerFor(container)
  provide(tokens.passwords, () => createPasswordHasher())
  provide(tokens.assets, () => loadAssets())
  provide(tokens.pages, (get) =>
    createPages({ assetsPath: assetsPath(get(tokens.config).issuer), assets: get(tokens.assets) }),
  )
  provide(tokens.clientKeys, (get) => {
    const { allow_private_addresses: allowPrivateAddresses } = get(tokens.config).outbound
    const fetch = createOutboundFetch({ allowPrivateAddresses })
    const remote = createRemoteKeySets({ owner: 'client', fetch, clock: get(tokens.clock), log: get(tokens.log) })
    return createClientKeys(remote)
  })
  provide(tokens.dpop, (get) => {
    const { issuer, clock_tolerance_secs: toleranceSeconds } = get(tokens.config)
    const { proofs, secrets } = collections(get(tokens.stores))
    return createDpop({ issuer, clock: get(tokens.clock), toleranceSeconds, proofs, secrets })
  })
  provide(tokens.rateLimits, (get) => createRateLimits(collections(get(tokens.stores)).attempts, get(tokens.clock)))
  provide(tokens.evidence, (get) => {
    const { attestation, clock_tolerance_secs: toleranceSeconds } = get(tokens.config)
    const { secrets, evidence: redeemed } = collections(get(tokens.stores))
    const ttlSeconds = attestation?.challenge_ttl_secs ?? 0
    return createEvidenceChallenges({ secrets, redeemed, clock: get(tokens.clock), ttlSeconds, toleranceSeconds })
  })
  provide(tokens.accessTokenVerifier, (get) => createAccessTokenVerifier(verificationOf(get)))
  provide(tokens.services, (get) => {
    const config = get(tokens.config)
    const stored = collections(get(tokens.stores))
    const { codes, deviceCodes, families, revocations, attempts, clientAssertions, factorRecords, factorClaims } =
      stored
    const clock = get(tokens.clock)
    const log = get(tokens.log)
    // What the deployer's own options name may be anywhere.
    const fetch = createOutboundFetch({ allowPrivateAddresses: true })
    return {
      clock,
      log,
      issuer: config.issuer,
      codes: readCodes(codes, revocations),
      deviceCodes: readDeviceCodes(deviceCodes, revocations),
      refreshTokens: readRefreshTokens(families, revocations),
      accounts: get(tokens.accounts),
      passwords: get(tokens.passwords),
      attempts,
      clockToleranceSeconds: config.clock_tolerance_secs,
      clientKeys: get(tokens.clientKeys),
      clientAssertions,
      ownTokens: createOwnTokens({
        ...verificationOf(get),
        accessTokenVerifier: get(tokens.accessTokenVerifier),
        revocations,
        findClient: (id) => get(tokens.clients).find(id),
      }),
      factorRecords,
      factorClaims,
      evidenceChallenges: get(tokens.evidence),
      principals: openPrincipals(get(tokens.stores)),
      outbound: createOutbound(fetch, clock),
      issuerKeys: createIssuerKeys(createRemoteKeySets({ owner: 'issuer', fetch, clock, log })),
    }
  })
}

/** Registers what stands on keys, clients and accounts, which a reload replaces. */
export const wireGeneration = (container: DependencyContainer): void => {
  const provide = providerFor(container)
  provide(tokens.issuer, (get) => {
    const config = get(tokens.config)
    return createTokenIssuer({
      issuer: config.issuer,
      ring: get(tokens.ring),
      clock: get(tokens.clock),
      accessTokenAlg: config.access_token_signing_alg,
      idTokenAlg: config.id_token_signing_alg,
      accessTokenTtl: config.access_token_ttl_secs,
      idTokenTtl: config.id_token_ttl_secs,
      defaultAudience: config.default_audience,
      resources: new Map(config.resources.map((resource) => [resource.identifier, resource])),
      accessTokenVerifier: get(tokens.accessTokenVerifier),
    })
  })
  provide(tokens.endpoints, wireEndpoints)
}

const wireEndpoints = (get: Resolve): Endpoints => {
  const config = get(tokens.config)
  const clock = get(tokens.clock)
  const audit = get(tokens.audit)
  const ring = get(tokens.ring)
  const issuer = get(tokens.issuer)
  const findClient = get(tokens.clients).find
  const { grants, clientAuthenticators, login } = get(tokens.registries)
  const { codes, deviceCodes, families, revocations, sessions, interactions, consents } = collections(
    get(tokens.stores),
  )
  const switchedOn = enabledGrants(config, grants.keys())
  const enabled = new Map([...grants].filter(([name]) => switchedOn.includes(name)))
  const verification = verificationOf(get)

  const dpop = get(tokens.dpop)
  const authenticateClient = traceClientAuthentication(
    createClientAuthentication({ authenticators: clientAuthenticators, findClient }),
    get(tokens.options).tracing,
  )
  const accessTokenVerifier = get(tokens.accessTokenVerifier)
  const identify = createIdentifyToken({ accessTokenVerifier, families })

  const { rate_limits: rates } = config
  const limits = get(tokens.rateLimits)
  const token = createToken({
    authenticateClient: limits.byClient('token', rates.token.client_per_minute, authenticateClient),
    grants: enabled,
    login,
    defaultAudience: config.default_audience,
    tokens: issuer,
    redeem: createRedeem({
      codes,
      deviceCodes,
      families,
      revocations,
      audit,
      clock,
      refreshIdleTtl: config.refresh_token_idle_ttl_secs,
      refreshAbsoluteTtl: config.refresh_token_absolute_ttl_secs,
      grantLifetime: grantLifetime(config),
    }),
    audit,
    dpop,
  })
  const introspect = createIntrospect({
    issuer: config.issuer,
    authenticateClient: limits.byClient('introspect', rates.introspect.client_per_minute, authenticateClient),
    identify,
    findClient,
    login,
    revocations,
    tokens: issuer,
    signingAlg: config.id_token_signing_alg,
    signingAlgs: () => ring.algorithms('introspection'),
    audit,
    clock,
  })
  const revoke = createRevoke({
    authenticateClient,
    identify,
    families,
    revocations,
    audit,
    clock,
    toleranceSeconds: config.clock_tolerance_secs,
    grantLifetime: grantLifetime(config),
  })
  const discovery = createDiscovery({
    issuer: config.issuer,
    scopes: config.scopes_supported,
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
    discovery,
    keySet: createKeySet(ring),
    token: limits.byAddress('token', rates.token.address_per_minute, token),
    introspect: limits.byAddress('introspect', rates.introspect.address_per_minute, introspect),
    revoke,
    home,
    asset: createAssets(assets),
    attestation: wireAttestation(config, {
      ring,
      clock,
      audit,
      registries: get(tokens.registries),
      stored: collections(get(tokens.stores)),
      evidence: get(tokens.evidence),
      rateLimits: limits,
    }),
  }
  if (login === undefined) return machine

  const userinfo = createUserinfo({
    accessTokenVerifier,
    audiences: [config.issuer, config.default_audience],
    findClient,
    login,
    revocations,
    tokens: issuer,
    audit,
    dpop,
  })
  const authorize: AuthorizeOptions = {
    issuer: config.issuer,
    defaultAudience: config.default_audience,
    scopesSupported: config.scopes_supported,
    codeTtlSeconds: config.authorization_code_ttl_secs,
    sessionTtlSeconds: config.session_ttl_secs,
    clock,
    audit,
    login,
    pages: get(tokens.pages),
    findClient,
    verifyIdTokenHint: (text) => verifyIdTokenHint(text, verification),
    codes,
    sessions,
    interactions,
    consents,
  }
  const pages = createAuthorize(authorize)
  const device =
    enabled.has(deviceCodeGrant) && wireDevice(config, authorize, authenticateClient, collections(get(tokens.stores)))
  // Both store what a sign-in is about before anybody has signed in.
  const beginning = (page: Endpoint) => limits.byAddress('authorize', rates.authorize.address_per_minute, page)
  return {
    ...machine,
    ...(device && { device: { ...device, page: beginning(device.page) } }),
    interactive: {
      userinfo,
      ...pages,
      authorize: beginning(pages.authorize),
    },
  }
}
