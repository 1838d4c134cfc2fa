import { createSessionClients, type SessionClient } from '../../../core/oauth/back-channel/session-clients.js'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFlow } from '../../../core/endpoints/authorization-flow/flow.js'
import type { AuthorizationOptions } from '../../../core/host/people-endpoints.js'
import { createAuthorizationEndpoint } from '../../../core/endpoints/authorize/index.js'
import { createConsentPage } from '../../../core/endpoints/interaction/consent.js'
import { createLogoutEndpoint } from '../../../core/endpoints/logout.js'
import { createSelectPage } from '../../../core/endpoints/interaction/select.js'
import { createSignInCallback } from '../../../core/endpoints/interaction/callback.js'
import { createSignInParts } from '../../../core/endpoints/interaction/sign-in-parts.js'
import { createLoginPage } from '../../../core/endpoints/interaction/login.js'
import { createClientDirectory } from '../../../core/oauth/clients/client-directory.js'
import { createRefusals } from '../../../core/endpoints/refusals.js'
import { createPages } from '../../../core/interaction/pages/create-pages.js'
import { loadAssets } from '../../../core/interaction/pages/load-assets.js'
import type { Consent } from '../../../core/interaction/consent.js'
import type { Interaction } from '../../../core/interaction/interaction.js'
import { createPushedRequests, type PushedRequest } from '../../../core/oauth/requests/pushed-request.js'
import { createRequestObjects } from '../../../core/oauth/requests/request-object.js'
import { createSlots } from '../../../core/interaction/slots.js'
import type { AttemptRecord } from '../../../core/interaction/sign-in-attempts.js'
import type { Session, SessionEntry } from '../../../core/interaction/session.js'
import type { AccountLookup } from '../../../core/oauth/subjects/account.js'
import type { Client } from '../../../core/oauth/clients/client.js'
import type { AuthorizationCode } from '../../../core/oauth/grants/grant.js'
import { createSubjects } from '../../../core/oauth/subjects/subjects.js'
import { createGrantIndex, type GrantEntry } from '../../../core/oauth/grants/grant-index.js'
import type { EndSessionGrants } from '../../../core/oauth/grants/session-grants.js'
import { hashOpaqueToken } from '../../../core/opaque-token.js'
import type { AuditEvent, AuditLog } from '../../../core/observe/audit.js'
import { Counts } from '../../../core/observe/counts.js'
import { openEmbedded } from '../../../stores/embedded/open-embedded.js'
import { startFixture } from './http-server.js'
import { createAttemptLimiter } from '../../../core/storage/attempts.js'
import { noLog } from '../../../core/observe/log.js'
import { createConcurrencyLimits } from '../../../core/storage/concurrency-limits.js'
import { freePort } from '../free-port.js'
import { countRefusals } from '../forge/refusals.js'
import { passwordDouble } from './password-double.js'
import { UserAgent } from '../clients/user-agent.js'
import { watchOneTime, watchRecords } from '../stores/watched-store.js'
import { standardReleases } from './claim-releases.js'

export const callback = 'https://client.example/cb'
export const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

export const webClient: Client = {
  client_id: 'web',
  client_name: 'Web shop',
  application_type: 'web',
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  scope: ['openid', 'profile', 'email', 'offline_access'],
  token_endpoint_auth_method: 'client_secret_basic',
  allowed_audiences: ['https://api.example/', 'urn:example:ledger'],
  security_profile: 'oauth2',
  metadata: {},
}

export const clients: readonly Client[] = [
  webClient,
  { ...webClient, client_id: 'second', redirect_uris: [callback, 'https://client.example/other?x=1'] },
  { ...webClient, client_id: 'spa', token_endpoint_auth_method: 'none' },
  { ...webClient, client_id: 'off', disabled: true },
  { ...webClient, client_id: 'service', grant_types: ['client_credentials'] },
  { ...webClient, client_id: 'no-code', response_types: [] },
  { ...webClient, client_id: 'aged', default_max_age: 100 },
  {
    ...webClient,
    client_id: 'native',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://127.0.0.1/cb', 'http://[::1]:3000/cb', 'http://localhost/cb', 'com.example.app:/cb'],
  },
  { ...webClient, client_id: 'local', redirect_uris: ['http://127.0.0.1/cb'] },
]

export const alice = { username: 'alice', password: 'alice-password-canary' }
export const bob = { username: 'bob', password: 'bob-password-canary' }

export const startProvider = async (
  overrides: Partial<AuthorizationOptions> = {},
  endGrants: EndSessionGrants = async () => new Map(),
) => {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const time = { now: Date.UTC(2026, 10, 20, 12) }
  const clock = () => time.now
  const events: AuditEvent[] = []
  const disabled = new Set<string>()
  const locked = { seconds: 0 }
  const directory = await mkdtemp(join(tmpdir(), 'signet-authorize-'))
  const backend = await openEmbedded({ path: directory, clock })
  const occupancy = createConcurrencyLimits(backend.counters('counters'))
  const room = { footprint: (bytes: number) => bytes, limit: () => Number.MAX_SAFE_INTEGER }
  const stores = {
    codes: watchOneTime(backend.oneTime<AuthorizationCode>('codes')),
    sessions: watchRecords(backend.records<Session>('sessions')),
    signInAttempts: watchOneTime(backend.oneTime<AttemptRecord>('sign_in_attempts')),
    interactions: watchOneTime(backend.oneTime<Interaction>('interactions')),
    consents: watchRecords(backend.records<Consent>('consents')),
    sessionIndex: backend.records<SessionEntry>('session_index'),
    grantIndex: createGrantIndex({
      store: backend.records<GrantEntry>('grant_index'),
      clock,
      lifetime: { offline: 86_400, online: 660 },
    }),
    sessionClients: createSessionClients({
      store: backend.records<SessionClient>('session_clients'),
      lifetime: { offline: 86_400, online: 3600 },
    }),
    secrets: backend.records<string>('secrets'),
    revocations: backend.revocations('revocations'),
  }
  const methods = passwordDouble(async ({ username, password }) => {
    if (locked.seconds > 0) return { outcome: 'locked', retryAfterSeconds: locked.seconds }
    const known = [alice, bob].some((person) => person.username === username && person.password === password)
    return known ? { outcome: 'passed', subject: `sub-${username}`, amr: ['pwd'] } : { outcome: 'refused' }
  })
  const accounts: AccountLookup = {
    find: async (subject) =>
      disabled.has(subject) ? undefined : { subject, claims: { name: `${subject.slice(4)} <b>Adams</b>` } },
  }
  const audit: AuditLog = { record: async (...lines) => void events.push(...lines) }
  const refusals = createRefusals({
    audit: overrides.audit ?? audit,
    hasRoom: () => true,
    limits: { countRefusal: () => undefined },
  })
  const options: AuthorizationOptions = {
    issuer,
    defaultAudience: issuer,
    releases: standardReleases,
    detailsTypes: new Map(),
    acrs: [],
    messageSigning: [],
    unknownScopes: 'ignore',
    refreshWithoutOpenid: true,
    scopesSupported: ['openid', 'profile', 'email', 'offline_access'],
    codeTtlSeconds: 60,
    sessionTtlSeconds: 86_400,
    clock,
    audit,
    refusals,
    methods,
    accounts,
    isLocalSubject: async () => false,
    pages: createPages({ assetsPath: '/assets', assets: loadAssets() }),
    clients: createClientDirectory([], {
      find: async (clientId) => {
        if (clientId.length > 512) throw new TypeError('no store takes such an id')
        return clients.find(({ client_id }) => client_id === clientId)
      },
    }),
    verifyIdTokenHint: async (token) => (token.startsWith('ours:') ? { sub: token.slice(5), aud: 'web' } : undefined),
    openSignIns: createSlots({
      concurrencyLimits: occupancy,
      limit: 'authorize_open',
      most: 1000,
      space: room,
      hits: new Counts('limit'),
    }),
    pushedRequests: createPushedRequests(backend.oneTime<PushedRequest>('pushed_requests'), clock),
    requirePushedRequests: false,
    tokens: { signAuthorizationResponse: () => Promise.reject(new Error('there is no key')) },
    responseAlg: 'ES256',
    responseAlgs: () => [],
    requestObjects: createRequestObjects({
      kind: 'authorization',
      issuer,
      clientKeys: { find: async () => [] },
      clock,
      toleranceSeconds: 10,
      required: false,
      requiredForFapi: false,
    }),
    subjects: createSubjects(),
    openAttempts: createSlots({
      concurrencyLimits: occupancy,
      limit: 'sign_in_open',
      most: 1000,
      space: room,
      hits: new Counts('limit'),
    }),
    secondFactorGuesses: createAttemptLimiter(backend.counters('counters')),
    clockToleranceSeconds: 10,
    log: noLog,
    ...stores,
    ...overrides,
  }
  const flow = createFlow(options)
  const ending = { ...options, endGrants }
  const parts = createSignInParts(ending, flow)
  const endpoints = {
    authorization: refusals.recording('authorization.refused', createAuthorizationEndpoint(options, flow)),
    select: createSelectPage(ending, flow),
    login: createLoginPage(options, flow, parts),
    signInCallback: createSignInCallback(options, flow, parts),
    consent: createConsentPage(options, flow),
    logout: refusals.recording('logout.refused', createLogoutEndpoint(ending, flow)),
  }
  const server = await startFixture({ issuer, port, endpoints })

  /** The URL of a good request, with these parameters set, repeated (array) or left out (undefined). */
  const url = (parameters: Readonly<Record<string, string | readonly string[] | undefined>> = {}): string => {
    const all = {
      client_id: 'web',
      redirect_uri: callback,
      response_type: 'code',
      scope: 'openid',
      state: 'st4te',
      nonce: 'n0nce',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...parameters,
    }
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(all))
      for (const one of value === undefined ? [] : [value].flat()) query.append(name, one)
    return `${issuer}/authorize?${query}`
  }

  /** A browser in which somebody has signed in and allowed `web` everything so far asked. */
  const signedIn = async (person = alice, parameters: Parameters<typeof url>[0] = {}): Promise<UserAgent> => {
    const agent = new UserAgent()
    await agent.authorize(url(parameters), person)
    return agent
  }

  /** The record of the code in an answer. */
  const codeIn = async (answer: URL): Promise<AuthorizationCode | undefined> =>
    stores.codes.find(hashOpaqueToken(answer.searchParams.get('code') ?? ''))

  const close = async (): Promise<void> => {
    await server.close(0)
    await backend[Symbol.asyncDispose]()
    await rm(directory, { recursive: true })
  }

  /** How many refusals were recorded, those that share a line included. */
  const refusalsOf = async (event: string): Promise<number> => {
    await refusals[Symbol.asyncDispose]()
    return countRefusals(events, { event })
  }

  return { close, issuer, time, events, disabled, locked, stores, url, signedIn, codeIn, refusalsOf }
}

export type Provider = Awaited<ReturnType<typeof startProvider>>
