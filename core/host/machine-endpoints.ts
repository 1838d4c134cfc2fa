import { createDemoPage } from '../demo/page.js'
import { assetEndpoint, createAssetEndpoint } from '../endpoints/assets.js'
import { authorizationServerMetadata, createDiscovery, openidConfiguration } from '../endpoints/discovery.js'
import type { Declaration, HandlersOf } from '../endpoints/endpoint.js'
import { createHomeEndpoint, homeEndpoint } from '../endpoints/home.js'
import { createIntrospectionEndpoint, introspectionEndpoint } from '../endpoints/introspect.js'
import { accountUrl } from '../endpoints/authorization-flow/account-url.js'
import { createKeySetEndpoint, keySetEndpoint } from '../endpoints/key-set.js'
import { createRevocationEndpoint, revocationEndpoint } from '../endpoints/revoke.js'
import { createTokenEndpoint, tokenEndpoint } from '../endpoints/token/index.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'
import { methodsOf, namesOfAlgorithms } from '../oauth/clients/security-profile.js'
import { createIdentifyToken } from '../tokens/identify-token.js'
import { createRedeem } from '../tokens/redeem.js'
import { hasClientCertificates, mtlsAlias } from '../../config/client-certificates.js'
import { tokens, type Resolve } from './injection-tokens.js'
import { notifyClientsOf } from './people-endpoints.js'

/** The endpoints that every deployment serves. */
export const machineEndpoints = {
  openidConfiguration,
  authorizationServerMetadata,
  keySet: keySetEndpoint,
  home: homeEndpoint,
  assets: assetEndpoint,
}

/** The endpoints that are served where a plugin provides a grant. */
export const grantEndpoints = {
  token: tokenEndpoint,
  introspection: introspectionEndpoint,
  revocation: revocationEndpoint,
}

/** `served` holds the endpoints of the whole deployment, for its discovery document. */
export const createMachineEndpoints = (
  get: Resolve,
  served: readonly Declaration[],
): HandlersOf<typeof machineEndpoints> => {
  const config = get(tokens.config)
  const { issuer } = config
  const ring = get(tokens.ring)
  const assets = get(tokens.assets)
  const { demo } = get(tokens.options)
  const isProfiled = config.security_profile === 'fapi2'
  const discovery = createDiscovery(served, {
    issuer,
    scopes: config.scopes_supported,
    claims: get(tokens.releases).supported,
    responseTypes: config.response_types_supported,
    grantTypes: [...get(tokens.grants).keys()],
    clientAuthMethods: methodsOf(config.security_profile, get(tokens.registries).clientAuthenticators.keys()),
    requirePushedRequests: config.require_pushed_authorization_requests || isProfiled,
    requireSignedRequests:
      config.require_signed_request_object || (isProfiled && config.fapi2_message_signing.includes('request')),
    fetchesRequests: config.request_uris === 'registered',
    securityProfile: config.security_profile,
    detailsTypes: [...get(tokens.detailsTypes).keys()],
    uiLocales: get(tokens.messages).languages,
    acrValues: config.acr_values_supported.map(({ acr }) => acr),
    subjectTypes: config.pairwise_key === undefined ? ['public'] : ['public', 'pairwise'],
    dpopAlgs: namesOfAlgorithms(config.security_profile),
    idTokenAlgs: () => ring.algorithms('id_token'),
    userinfoAlgs: () => ring.algorithms('userinfo'),
    introspectionAlgs: () => ring.algorithms('introspection'),
    responseAlgs: () => ring.algorithms('jarm'),
    mtls: hasClientCertificates(config) ? { alias: mtlsAlias(config) } : undefined,
  })
  const shown = { issuer, assetsPath: get(tokens.assetsPath), assets, theme: get(tokens.theme) }
  return {
    openidConfiguration: discovery,
    authorizationServerMetadata: discovery,
    keySet: createKeySetEndpoint(ring),
    home: demo
      ? createDemoPage({ ...shown, demo: demo.page, ...(config.account_page && { accountUrl: accountUrl(issuer) }) })
      : createHomeEndpoint({ ...shown, messages: get(tokens.messages) }),
    assets: createAssetEndpoint(assets),
  }
}

export const createGrantEndpoints = (get: Resolve): HandlersOf<typeof grantEndpoints> => {
  const config = get(tokens.config)
  const { issuer, rate_limits: rates } = config
  const clock = get(tokens.clock)
  const audit = get(tokens.audit)
  const ring = get(tokens.ring)
  const limits = get(tokens.rateLimits)
  const authenticateClient = get(tokens.clientAuthentication)
  const clients = get(tokens.clients)
  const { accounts } = get(tokens.registries)
  const { codes, deviceCodes, backchannelRequests, families, revocations } = get(tokens.collections)
  const identify = createIdentifyToken({ accessTokenVerifier: get(tokens.accessTokenVerifier), families })
  return {
    token: createTokenEndpoint({
      detailsTypes: get(tokens.detailsTypes),
      authenticateClient: limits.byClient('token', rates.token.client_per_minute, authenticateClient),
      grants: get(tokens.grants),
      accounts,
      defaultAudience: config.default_audience,
      tokens: get(tokens.tokenIssuer),
      redeem: createRedeem({
        revokedGrants: get(tokens.revokedGrants),
        codes,
        deviceCodes,
        backchannelRequests,
        families,
        grantIndex: get(tokens.grantIndex),
        revocations,
        notifyClients: notifyClientsOf(get),
        accounts,
        clients,
        audit,
        clock,
        refreshIdleTtl: config.refresh_token_idle_ttl_secs,
        refreshAbsoluteTtl: config.refresh_token_absolute_ttl_secs,
        grantLifetime: grantLifetime(config),
      }),
      noteUse: get(tokens.registeredClients).noteUse,
      audit,
      dpop: get(tokens.dpop),
    }),
    introspection: createIntrospectionEndpoint({
      issuer,
      authenticateClient: limits.byClient('introspect', rates.introspect.client_per_minute, authenticateClient),
      identify,
      clients,
      accounts,
      revocations,
      subjects: get(tokens.subjects),
      tokens: get(tokens.tokenIssuer),
      signingAlg: config.id_token_signing_alg,
      signingAlgs: () => ring.algorithms('introspection'),
      signForFapi: config.fapi2_message_signing.includes('introspection'),
      audit,
      log: get(tokens.log),
      clock,
    }),
    revocation: createRevocationEndpoint({
      authenticateClient,
      identify,
      families,
      revocations,
      audit,
      clock,
      toleranceSeconds: config.clock_tolerance_secs,
      grantLifetime: grantLifetime(config),
    }),
  }
}
