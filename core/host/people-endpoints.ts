import { findNearMiss } from '../near-miss.js'
import type { Config } from '../../config/schema.js'
import { createFlow, type Flow } from '../endpoints/authorization-flow/flow.js'
import type {
  CommonOptions,
  GrantRecords,
  RequestRules,
  RequestSources,
  SignInMethods,
  SignInRecords,
} from '../endpoints/authorization-flow/options.js'
import { authorizationEndpoint, createAuthorizationEndpoint } from '../endpoints/authorize/index.js'
import { createDeviceAuthorizationEndpoint, deviceAuthorizationEndpoint } from '../endpoints/device/authorization.js'
import { createDevicePage, devicePageEndpoint } from '../endpoints/device/page.js'
import { createDeviceVerification, deviceVerification } from '../endpoints/device/verify.js'
import type { HandlersOf } from '../endpoints/endpoint.js'
import { createSignInCallback, signInCallback } from '../endpoints/interaction/callback.js'
import { createSignInParts } from '../endpoints/interaction/sign-in-parts.js'
import { consentEndpoint, createConsentPage } from '../endpoints/interaction/consent.js'
import { createLoginPage, loginEndpoint } from '../endpoints/interaction/login.js'
import { createSelectPage, selectEndpoint } from '../endpoints/interaction/select.js'
import { createLogoutEndpoint, logoutEndpoint } from '../endpoints/logout.js'
import { createPushedAuthorizationEndpoint, pushedAuthorizationEndpoint } from '../endpoints/pushed-authorization.js'
import { backchannelLogoutEndpoint, createBackchannelLogout } from '../endpoints/sign-in/backchannel-logout.js'
import { createUserinfoEndpoint, userinfoEndpoint } from '../endpoints/userinfo.js'
import type { SignInMethod } from '../interaction/sign-in-method.js'
import { createSlots, type Slots } from '../interaction/slots.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'
import type { AccountLookup } from '../oauth/subjects/account.js'
import { createNotifyClients } from '../oauth/back-channel/notify-clients.js'
import { createPushedRequests } from '../oauth/requests/pushed-request.js'
import type { RequiredAuthentication } from '../oauth/requests/required-authentication.js'
import { createRegisteredRequests } from '../oauth/requests/registered-requests.js'
import { createRequestObjects } from '../oauth/requests/request-object.js'
import { createEndSessionGrants } from '../oauth/grants/session-grants.js'
import { verifyIdTokenHint } from '../tokens/verify-own-token.js'
import { personalRecordsOf } from '../collections/person-records.js'
import type { QuotaName } from '../collections/quotas.js'
import { tokens, type Resolve } from './injection-tokens.js'

/** The endpoints that are served where people sign in. */
export const peopleEndpoints = {
  userinfo: userinfoEndpoint,
  authorization: authorizationEndpoint,
  pushedAuthorization: pushedAuthorizationEndpoint,
  select: selectEndpoint,
  login: loginEndpoint,
  signInCallback,
  consent: consentEndpoint,
  logout: logoutEndpoint,
}

/** The endpoints that are also served where a sign-in method is notified of sign-outs elsewhere. */
export const endedElsewhereEndpoints = { backchannelLogout: backchannelLogoutEndpoint }

/** The endpoints that are also served where the device flow (RFC 8628) is enabled. */
export const deviceEndpoints = {
  deviceAuthorization: deviceAuthorizationEndpoint,
  devicePage: devicePageEndpoint,
  deviceVerification,
}

/**
 * Everything that `/authorize`, the pages after it and the device flow need. No endpoint takes all of it: each names
 * its parts.
 */
export interface AuthorizationOptions
  extends RequestRules, RequestSources, SignInMethods, SignInRecords, GrantRecords, CommonOptions {}

/** What the pages of `/authorize` and of the device flow share. */
export interface SignIn {
  readonly options: AuthorizationOptions
  readonly flow: Flow
}

/** Limits how many entries of one kind an address may have open. The entries count in this quota of their store. */
export const createSlotsFor = (
  get: Resolve,
  limit: string,
  { address_open: most }: { readonly address_open: number },
  share: QuotaName,
): Slots => {
  const { concurrencyLimits } = get(tokens.collections)
  const counted = get(tokens.stores).shares?.[share]
  const space = {
    footprint: (recordBytes: number) => counted?.footprint(recordBytes) ?? recordBytes,
    limit: () => counted?.read().limit ?? Number.MAX_SAFE_INTEGER,
  }
  return createSlots({ concurrencyLimits, limit, most, space, hits: get(tokens.rateLimits).hits })
}

export const createSignIn = (
  get: Resolve,
  methods: ReadonlyMap<string, SignInMethod>,
  accounts: AccountLookup,
): SignIn => {
  const config = get(tokens.config)
  const verification = { ...get(tokens.verification), ring: get(tokens.hintKeys) }
  const {
    codes,
    sessions,
    sessionIndex,
    interactions,
    signInAttempts,
    attemptCounters,
    pushedRequests,
    consents,
    secrets,
    revocations,
  } = get(tokens.collections)
  const clientIds = config.clients.flatMap(({ client_id: id }) => (typeof id === 'string' ? [id] : []))
  const options: AuthorizationOptions = {
    issuer: config.issuer,
    defaultAudience: config.default_audience,
    scopesSupported: config.scopes_supported,
    unknownScopes: config.unknown_scopes,
    refreshWithoutOpenid: config.refresh_token_without_openid,
    releases: get(tokens.releases),
    detailsTypes: get(tokens.detailsTypes),
    messageSigning: config.fapi2_message_signing,
    acrs: config.acr_values_supported,
    codeTtlSeconds: config.authorization_code_ttl_secs,
    sessionTtlSeconds: config.session_ttl_secs,
    clock: get(tokens.clock),
    audit: get(tokens.audit),
    refusals: get(tokens.refusals),
    methods,
    accounts,
    isLocalSubject: get(tokens.registries).isLocalSubject,
    consentMethod: get(tokens.registries).consent,
    signInAttempts,
    openAttempts: createSlotsFor(get, 'sign_in_open', config.rate_limits.authorize, 'requests'),
    secondFactorGuesses: attemptCounters,
    clockToleranceSeconds: config.clock_tolerance_secs,
    log: get(tokens.log),
    pages: get(tokens.pages),
    clients: get(tokens.clients),
    ...(config.issuer.startsWith('http:') && {
      meantClient: (typed: string) => findNearMiss(typed, clientIds),
    }),
    verifyIdTokenHint: (text) => verifyIdTokenHint(text, verification),
    codes,
    sessions,
    sessionIndex,
    grantIndex: get(tokens.grantIndex),
    sessionClients: get(tokens.sessionClients),
    interactions,
    openSignIns: createSlotsFor(get, 'authorize_open', config.rate_limits.authorize, 'requests'),
    pushedRequests: createPushedRequests(pushedRequests, get(tokens.clock)),
    tokens: get(tokens.tokenIssuer),
    responseAlg: config.id_token_signing_alg,
    responseAlgs: () => get(tokens.ring).algorithms('jarm'),
    requirePushedRequests: config.require_pushed_authorization_requests,
    requestObjects: createRequestObjects({
      kind: 'authorization',
      issuer: config.issuer,
      clientKeys: get(tokens.clientKeys),
      clock: get(tokens.clock),
      toleranceSeconds: config.clock_tolerance_secs,
      required: config.require_signed_request_object,
      requiredForFapi: config.fapi2_message_signing.includes('request'),
      registered:
        config.request_uris === 'registered'
          ? createRegisteredRequests(get(tokens.outboundFetch), get(tokens.clock))
          : undefined,
    }),
    consents,
    secrets,
    revocations,
    subjects: get(tokens.subjects),
  }
  return { options, flow: createFlow(options) }
}

const createPushedAuthorization = (get: Resolve, rules: AuthorizationOptions) => {
  const { par_ttl_secs: ttlSeconds, rate_limits: rates } = get(tokens.config)
  const authenticate = get(tokens.clientAuthentication)
  return createPushedAuthorizationEndpoint({
    authenticateClient: get(tokens.rateLimits).byClient('par', rates.par.client_per_minute, authenticate),
    rules,
    requestObjects: rules.requestObjects,
    pushedRequests: rules.pushedRequests,
    openRequests: createSlotsFor(get, 'par_open', rates.par, 'pushed_requests'),
    ttlSeconds,
    audit: rules.audit,
    dpop: get(tokens.dpop),
  })
}

const requiredAuthentication = ({ userinfo }: Config): RequiredAuthentication => ({
  ...(userinfo.acr_values && { acrValues: userinfo.acr_values }),
  ...(userinfo.max_age_secs !== undefined && { maxAge: userinfo.max_age_secs }),
})

/** A disabled client is not notified. */
export const notifyClientsOf = (get: Resolve) =>
  createNotifyClients({
    sessionClients: get(tokens.collections).sessionClients,
    outbox: get(tokens.logoutOutbox),
    findLogoutUri: async (id) => (await get(tokens.clients).findEnabled(id))?.backchannel_logout_uri,
  })

const endGrantsOf = (get: Resolve) => {
  const { grantIndex: index, revocations } = get(tokens.collections)
  return createEndSessionGrants({
    index,
    revocations,
    grantLifetime: grantLifetime(get(tokens.config)),
    notifyClients: notifyClientsOf(get),
  })
}

export const createPeopleEndpoints = (get: Resolve, { options, flow }: SignIn): HandlersOf<typeof peopleEndpoints> => {
  const ending = { ...options, endGrants: endGrantsOf(get) }
  const parts = createSignInParts(ending, flow)
  return {
    userinfo: createUserinfoEndpoint({
      accessTokenVerifier: get(tokens.accessTokenVerifier),
      audiences: [options.issuer, options.defaultAudience],
      clients: options.clients,
      accounts: options.accounts,
      requires: requiredAuthentication(get(tokens.config)),
      clock: options.clock,
      revocations: options.revocations,
      tokens: get(tokens.tokenIssuer),
      audit: options.audit,
      refusals: options.refusals,
      dpop: get(tokens.dpop),
    }),
    authorization: createAuthorizationEndpoint(options, flow),
    pushedAuthorization: createPushedAuthorization(get, options),
    select: createSelectPage(ending, flow),
    login: createLoginPage(options, flow, parts),
    signInCallback: createSignInCallback(options, flow, parts),
    consent: createConsentPage(options, flow),
    logout: createLogoutEndpoint(ending, flow),
  }
}

export const createEndedElsewhereEndpoints = (
  get: Resolve,
  { options }: SignIn,
): HandlersOf<typeof endedElsewhereEndpoints> => {
  const { audit, methods } = options
  const { clock_tolerance_secs: toleranceSeconds } = get(tokens.config)
  const kept = get(tokens.collections)
  const records = personalRecordsOf(kept, get(tokens.config), get(tokens.clock), notifyClientsOf(get))
  const taken = kept.upstreamLogouts
  return { backchannelLogout: createBackchannelLogout({ methods, records, taken, audit, toleranceSeconds }) }
}

export const createDeviceEndpoints = (get: Resolve, signIn: SignIn): HandlersOf<typeof deviceEndpoints> => {
  const { device_code_ttl_secs: ttlSeconds, rate_limits: rates } = get(tokens.config)
  const { deviceCodes, attemptCounters: attempts } = get(tokens.collections)
  const options = { ...signIn.options, deviceCodes, attempts }
  return {
    deviceAuthorization: createDeviceAuthorizationEndpoint({
      ...options,
      authenticateClient: get(tokens.clientAuthentication),
      openCodes: createSlotsFor(get, 'device_open', rates.device_authorization, 'device_codes'),
      ttlSeconds,
    }),
    devicePage: createDevicePage(options, signIn.flow),
    deviceVerification: createDeviceVerification(options, signIn.flow),
  }
}
