import { instanceCachingFactory, type DependencyContainer, type InjectionToken } from 'tsyringe'
import { createEvidenceChallenges } from '../attestation/evidence-challenges.js'
import { createPrincipalRegistry } from '../attestation/principal-registry.js'
import { createClientCertificates } from '../certificates/client-certificates.js'
import { accountUrl } from '../endpoints/authorization-flow/account-url.js'
import { createRateLimits } from '../endpoints/rate-limits.js'
import { demoAssets } from '../demo/page.js'
import { loadAssets } from '../interaction/pages/load-assets.js'
import { createPersonFactors } from '../interaction/factors/person-factors.js'
import { createPages } from '../interaction/pages/create-pages.js'
import { grantEntryLifetime } from '../keys/lifecycle/open-ring.js'
import { createExternalAccounts } from '../interaction/external-accounts.js'
import { createHandoffs } from '../interaction/handoffs.js'
import { createPasswordHasher } from '../interaction/password-hasher.js'
import { createCheckSector } from '../oauth/clients/check-sector.js'
import { createClientAuthentication } from '../oauth/clients/client-authentication.js'
import { createClientEncryptionKeys, createClientKeys } from '../oauth/clients/client-keys.js'
import { createEncryptAnswer } from '../oauth/clients/encryption.js'
import { createSessionClients } from '../oauth/back-channel/session-clients.js'
import { createGrantIndex } from '../oauth/grants/grant-index.js'
import { createSecretGuesses } from '../oauth/clients/secret-guesses.js'
import { createIssuerKeys } from '../outbound/issuer-keys.js'
import { createAuditSignatures } from '../keys/audit-signatures.js'
import { createKeyLog } from '../keys/log/key-log.js'
import { createOutboundFetch, createOutboundRequest } from '../outbound/outbound-fetch.js'
import { createRemoteKeySets } from '../outbound/remote-key-sets.js'
import { createOutbound } from '../outbound/webhook.js'
import { createOutbox } from '../oauth/back-channel/outbox.js'
import { createSubjects } from '../oauth/subjects/subjects.js'
import { createDpop } from '../oauth/dpop.js'
import { RecentMap } from '../recent-map.js'
import { createAccessTokenVerifier } from '../tokens/access-token-verifier.js'
import { createWarnOfClaims } from '../tokens/claims.js'
import { createClaimReleases } from '../tokens/claim-releases.js'
import { createAuthorizationDetailsTypes } from '../oauth/requests/authorization-details-schema.js'
import { createSignedRequests } from '../tokens/signed-requests.js'
import { createSignLogoutToken } from '../tokens/logout-token.js'
import { createTokenIssuer } from '../tokens/issuer.js'
import { collections } from '../collections/collections.js'
import {
  createApiParts,
  createConsole,
  createGuardOfOperators,
  createOperatorParts,
  createSignIn,
} from './operators.js'
import { createOwnTokens } from './own-tokens.js'
import { readCodes, readPolledCodes, readRefreshTokens } from '../modules/code-readers.js'
import type { Services } from '../modules/contract.js'
import { enabledGrants } from '../checks/enabled-grants.js'
import { endpointBases } from '../../config/client-certificates.js'
import { createAttestationsOf } from './attestation-endpoints.js'
import { createEndpoints } from './endpoint-list.js'
import { createClientsThatRegistered } from './registration-endpoints.js'
import { tokens, type Resolve } from './injection-tokens.js'
import { openStatusLists } from '../collections/status-lists.js'
import { traceClientAuthentication } from './instruments/traced.js'

/** The lifetime of a challenge for the proof of an attested client where there is no section `attestation`. */
const clientChallengeSeconds = 300

/** Each entry takes 60 bytes. */
const maxRevokedGrants = 10_000

/** Registers one factory for each part, which is created once, when it is first needed. */
const providerFor =
  (container: DependencyContainer) =>
  <T>(token: InjectionToken<T>, make: (get: Resolve) => T): void => {
    container.register(token, { useFactory: instanceCachingFactory((from) => make((wanted) => from.resolve(wanted))) })
  }

type Provide = ReturnType<typeof providerFor>

/** Registers what fetches the keys of clients, checks their proofs, and posts to them. */
const wireClients = (provide: Provide): void => {
  provide(tokens.outboundFetch, (get) => {
    const { allow_private_addresses: allowPrivateAddresses } = get(tokens.config).outbound
    return createOutboundFetch({ allowPrivateAddresses })
  })
  provide(tokens.remoteKeySets, (get) => {
    const [fetch, clock, log] = [get(tokens.outboundFetch), get(tokens.clock), get(tokens.log)]
    return createRemoteKeySets({ owner: 'client', fetch, clock, log })
  })
  provide(tokens.checkSector, (get) => createCheckSector(get(tokens.outboundFetch)))
  provide(tokens.clientKeys, (get) => createClientKeys(get(tokens.remoteKeySets)))
  provide(tokens.dpop, (get) => {
    const config = get(tokens.config)
    const { usedDpopProofs: proofs, secrets } = get(tokens.collections)
    return createDpop({
      bases: endpointBases(config),
      clock: get(tokens.clock),
      toleranceSeconds: config.clock_tolerance_secs,
      proofs,
      secrets,
    })
  })
  provide(tokens.logoutOutbox, (get) => {
    const { logoutDeliveries: records, logoutClaims: claims } = get(tokens.collections)
    return createOutbox({ kind: 'logout_token', records, claims, clock: get(tokens.clock) })
  })
  provide(tokens.pingOutbox, (get) => {
    const { pingDeliveries: records, logoutClaims: claims } = get(tokens.collections)
    return createOutbox({ kind: 'ping', records, claims, clock: get(tokens.clock) })
  })
}

/** Registers what is derived from the parts that the start has opened, and stays. */
export const wire = (container: DependencyContainer): void => {
  const provide = providerFor(container)
  wireClients(provide)
  provide(tokens.apiParts, createApiParts)
  provide(tokens.console, createConsole)
  provide(tokens.operators, createOperatorParts)
  provide(tokens.signIn, createSignIn)
  provide(tokens.operatorGuard, createGuardOfOperators)
  provide(tokens.collections, (get) => collections(get(tokens.stores)))
  provide(tokens.revokedGrants, () => new RecentMap<string, string>(maxRevokedGrants))
  provide(tokens.passwords, () => createPasswordHasher())
  provide(tokens.assetsPath, (get) => `${new URL(get(tokens.config).issuer).pathname.replace(/\/$/, '')}/assets`)
  provide(tokens.releases, (get) => createClaimReleases(get(tokens.config)))
  provide(
    tokens.detailsTypes,
    (get) =>
      new Map([
        ...createAuthorizationDetailsTypes(get(tokens.config).authorization_details_types),
        ...get(tokens.registries).authorizationDetails,
      ]),
  )
  provide(tokens.rateLimits, (get) => createRateLimits(get(tokens.collections).attemptCounters, get(tokens.clock)))
  provide(tokens.evidenceChallenges, (get) => {
    const { attestation, clock_tolerance_secs: toleranceSeconds } = get(tokens.config)
    const { secrets, usedEvidenceChallenges: redeemed, returnedEvidence: returned } = get(tokens.collections)
    const ttlSeconds = attestation?.challenge_ttl_secs ?? clientChallengeSeconds
    return createEvidenceChallenges({
      ...{ secrets, redeemed, returned, ttlSeconds, toleranceSeconds },
      clock: get(tokens.clock),
    })
  })
  provide(tokens.statusLists, (get) => openStatusLists(get(tokens.config), get(tokens.collections), get(tokens.clock)))
  provide(tokens.principals, (get) =>
    createPrincipalRegistry(get(tokens.collections), get(tokens.statusLists)?.tokenStatus),
  )
  provide(tokens.verification, (get) => ({
    ring: get(tokens.publishedKeys),
    issuer: get(tokens.config).issuer,
    clock: get(tokens.clock),
    toleranceSeconds: get(tokens.config).clock_tolerance_secs,
  }))
  provide(tokens.encryptAnswer, (get) => createEncryptAnswer(createClientEncryptionKeys(get(tokens.remoteKeySets))))
  provide(tokens.subjects, (get) => createSubjects(get(tokens.config).pairwise_key?.reveal()))
  provide(tokens.accessTokenVerifier, (get) =>
    createAccessTokenVerifier(get(tokens.verification), get(tokens.subjects)),
  )
  provide(tokens.shownAttestations, createAttestationsOf)
  provide(tokens.auditSignatures, (get) =>
    createAuditSignatures({ ring: get(tokens.signingKeys), audit: get(tokens.audit) }),
  )
  provide(tokens.keyLog, (get) => {
    const { key_log: isOn, issuer } = get(tokens.config)
    const { keyLog: store } = get(tokens.collections)
    return isOn ? createKeyLog({ store, issuer, signatures: get(tokens.auditSignatures) }) : undefined
  })
  provide(tokens.services, servicesOf)
}

/** The services that plugins receive. */
const servicesOf = (get: Resolve): Omit<Services, 'secondFactors'> => {
  const config = get(tokens.config)
  const stored = get(tokens.collections)
  const { codes, deviceCodes, backchannelRequests, families, revocations } = stored
  const { clientAssertions, factorRecords, factorClaims, externalAccounts } = stored
  const clock = get(tokens.clock)
  const log = get(tokens.log)
  // The hosts that the deployer's own options name may be on any network.
  const fetch = createOutboundFetch({ allowPrivateAddresses: true })
  const request = createOutboundRequest({ allowPrivateAddresses: true })
  return {
    clock,
    log,
    issuer: config.issuer,
    endpointBases: endpointBases(config),
    codes: readCodes(codes, revocations),
    deviceCodes: readPolledCodes(deviceCodes, revocations),
    backchannelRequests: readPolledCodes(backchannelRequests, revocations),
    refreshTokens: readRefreshTokens(families, get(tokens.revokedGrants)),
    accounts: get(tokens.accounts),
    passwords: get(tokens.passwords),
    attempts: stored.attemptCounters,
    personFactors: createPersonFactors({ store: stored.personFactors, clock }),
    clockToleranceSeconds: config.clock_tolerance_secs,
    clientKeys: get(tokens.clientKeys),
    clientCertificates: createClientCertificates({
      trustAnchors: config.mtls?.trust_anchors ?? [],
      intermediates: config.mtls?.intermediates ?? [],
      verifiedByProxy: config.mtls?.verified_by_proxy ?? false,
      clock,
    }),
    clientAssertions,
    dpopProofs: get(tokens.dpop),
    clientAssertionMaxAgeSeconds: config.client_assertion_max_age_secs,
    ownTokens: createOwnTokens({
      ...get(tokens.verification),
      accessTokenVerifier: get(tokens.accessTokenVerifier),
      revocations,
      subjects: get(tokens.subjects),
      // This is resolved only when a token is needed, because a command that uses plugins has no clients.
      clients: { findEnabled: (id) => get(tokens.clients).findEnabled(id) },
    }),
    attestations: get(tokens.shownAttestations),
    factorRecords,
    factorClaims,
    evidenceChallenges: get(tokens.evidenceChallenges),
    principals: get(tokens.principals),
    outbound: createOutbound(fetch, request, clock),
    issuerKeys: createIssuerKeys(createRemoteKeySets({ owner: 'issuer', fetch, clock, log })),
    signedRequests: createSignedRequests({ ring: get(tokens.signingKeys), audit: get(tokens.audit) }),
    externalAccounts: createExternalAccounts(
      externalAccounts,
      // This is resolved only at a sign-in, when all plugins exist.
      (subject, signal) => get(tokens.registries).isLocalSubject(subject, signal),
      createWarnOfClaims(log),
    ),
    handoffs: createHandoffs(stored.handoffs),
  }
}

/** Registers what depends on keys, clients, accounts and the theme of pages, which a reload replaces. */
export const wireGeneration = (container: DependencyContainer): void => {
  const provide = providerFor(container)
  provide(tokens.assets, (get) => {
    const built = get(tokens.options).demo === undefined ? loadAssets() : loadAssets(demoAssets)
    return new Map([...built, ...get(tokens.theme).assets])
  })
  provide(tokens.pages, (get) =>
    createPages({
      assetsPath: get(tokens.assetsPath),
      assets: get(tokens.assets),
      theme: get(tokens.theme),
      messages: get(tokens.messages),
      scopes: get(tokens.config).scopes,
      ...(get(tokens.config).account_page && { accountUrl: accountUrl(get(tokens.config).issuer) }),
    }),
  )
  provide(tokens.tokenIssuer, (get) => {
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
      releases: get(tokens.releases),
      resources: new Map(config.resources.map((resource) => [resource.identifier, resource])),
      accessTokenVerifier: get(tokens.accessTokenVerifier),
      subjects: get(tokens.subjects),
      sealIdTokens: config.token_exchange_enabled,
      encrypt: get(tokens.encryptAnswer),
    })
  })
  provide(tokens.signLogoutToken, (get) => {
    const { issuer, id_token_signing_alg: idTokenAlg } = get(tokens.config)
    return createSignLogoutToken({
      ...{ issuer, idTokenAlg, ring: get(tokens.ring), clock: get(tokens.clock) },
      subjects: get(tokens.subjects),
    })
  })
  provide(tokens.grantIndex, (get) =>
    createGrantIndex({
      store: get(tokens.collections).grantIndex,
      clock: get(tokens.clock),
      lifetime: grantEntryLifetime(get(tokens.config)),
    }),
  )
  provide(tokens.sessionClients, (get) => {
    const { session_ttl_secs: online } = get(tokens.config)
    const { offline } = grantEntryLifetime(get(tokens.config))
    const lifetime = { online, offline: Math.max(online, offline) }
    return createSessionClients({ store: get(tokens.collections).sessionClients, lifetime })
  })
  provide(tokens.registeredClients, createClientsThatRegistered)
  provide(tokens.grants, (get) => {
    const { grants } = get(tokens.registries)
    const enabled = enabledGrants(get(tokens.config), grants.keys())
    return new Map([...grants].filter(([name]) => enabled.includes(name)))
  })
  provide(tokens.clientAuthentication, (get) =>
    traceClientAuthentication(
      createClientAuthentication({
        authenticators: get(tokens.registries).clientAuthenticators,
        clients: get(tokens.clients),
        guesses: createSecretGuesses(get(tokens.collections).attemptCounters),
      }),
      get(tokens.options).tracing,
    ),
  )
  provide(tokens.endpoints, createEndpoints)
}
