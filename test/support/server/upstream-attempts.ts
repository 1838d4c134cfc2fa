import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Answer, Contributions, PluginModule, SignInAttempt, SignInRequest } from '../../../core/api/index.js'
import { createExternalAccounts, type ExternalAccount } from '../../../core/interaction/external-accounts.js'
import { noLog } from '../../../core/observe/log.js'
import { createIssuerKeys } from '../../../core/outbound/issuer-keys.js'
import { createOutboundFetch, createOutboundRequest } from '../../../core/outbound/outbound-fetch.js'
import { createRemoteKeySets } from '../../../core/outbound/remote-key-sets.js'
import { createOutbound } from '../../../core/outbound/webhook.js'
import { openEmbedded } from '../../../stores/embedded/open-embedded.js'
import { createWarnOfClaims } from '../../../core/tokens/claims.js'
import plugin from '../../../plugins/login/oidc/index.js'
import { UserAgent } from '../clients/user-agent.js'
import { startUpstream, type UpstreamProvider } from './upstream-provider.js'

const callbackUrl = 'https://id.example/sign-in/corp/callback'
export const secret = 'a-secret-of-this-client-at-the-provider'
export const alice = { sub: 'upstream-alice', claims: { name: 'Alice Adams', email: 'alice@corp.example' } }

export const validate = async (options: object) => plugin.options?.['~standard'].validate(options)

export const methodOf = ({ signIn }: Contributions) => signIn![0]!

export const subjectOf = (iss: string, sub: string): string =>
  createHash('sha256')
    .update(JSON.stringify([iss, sub]))
    .digest('base64url')

export const newAttempt = (request: Partial<SignInRequest> = {}): SignInAttempt => ({
  id: randomBytes(32).toString('base64url'),
  interactionId: 'interaction',
  challenge: randomBytes(32).toString('base64url'),
  callbackUrl,
  from: { address: '192.0.2.1' },
  request: { scopes: ['openid'], acrValues: [], uiLocales: [], ...request },
  signal: AbortSignal.timeout(5000),
})

/** Where the browser is sent back to, with the attempt as `finish` gets it. */
export const visit = async (contributed: Contributions, attempt: SignInAttempt) => {
  const prompt = await methodOf(contributed).begin(attempt)
  if (prompt.kind !== 'redirect') throw new Error(prompt.kind)
  const { left } = await new UserAgent().follow(prompt.url)
  if (left === undefined) throw new Error('the browser does not come back')
  const answer: Answer = Object.fromEntries(left.searchParams)
  return { answer, kept: { ...attempt, ...(prompt.keep && { kept: prompt.keep }) } }
}

export const signIn = async (contributed: Contributions, request: Partial<SignInRequest> = {}) => {
  const { answer, kept } = await visit(contributed, newAttempt(request))
  return methodOf(contributed).finish(kept, answer)
}

export const claimsFor = ({ issuer }: UpstreamProvider, nonce: string) => {
  const iat = Math.floor(Date.now() / 1000)
  return { iss: issuer, sub: 'mallory', aud: 'signet', iat, exp: iat + 60, nonce }
}

/** The token endpoint of the provider answers with this ID token. */
export const answerWith = (
  upstream: UpstreamProvider,
  attempt: SignInAttempt,
  idToken: (nonce: string) => Promise<string> | string,
): void => {
  const nonce = createHash('sha256').update(`nonce:${attempt.challenge}`).digest('base64url')
  upstream.instead = async ({ url }, response) => {
    if (url !== '/token') return false
    const body = { access_token: 'at', token_type: 'Bearer', id_token: await idToken(nonce) }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return true
  }
}

/** The plugin at two real OpenID Providers; the attempts are those that the core would make. */
const openUpstreams = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signet-oidc-'))
  const backend = await openEmbedded({ path: folder, clock: Date.now })
  const ours = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(ours.publicKey)), kid: 'es-1', alg: 'ES256', use: 'sig' }
  const clients = () => [
    { client_id: 'signet', client_secret: secret, redirect_uris: [callbackUrl] },
    {
      client_id: 'signet-by-key',
      token_endpoint_auth_method: 'private_key_jwt' as const,
      redirect_uris: [callbackUrl],
      jwks: { keys: [jwk as never] },
    },
  ]
  const upstream = await startUpstream(clients)
  const other = await startUpstream(clients)
  const reach = { allowPrivateAddresses: true }
  const fetch = createOutboundFetch(reach)
  const services = {
    clock: Date.now,
    log: noLog,
    outbound: createOutbound(fetch, createOutboundRequest(reach), Date.now),
    issuerKeys: createIssuerKeys(createRemoteKeySets({ owner: 'issuer', fetch, clock: Date.now, log: noLog })),
    externalAccounts: createExternalAccounts(
      backend.records<ExternalAccount>('external_accounts'),
      async () => false,
      createWarnOfClaims(noLog),
    ),
    clockToleranceSeconds: 5,
    signedRequests: {
      sign: (_: unknown, claims: object) =>
        new SignJWT({ ...claims }).setProtectedHeader({ alg: 'ES256', kid: 'es-1' }).sign(ours.privateKey),
    },
  }
  return {
    ours,
    upstream,
    other,
    async create(more: object = {}, at = upstream): Promise<Contributions> {
      const own = { id: 'corp', issuer: at.issuer, client_id: 'signet', client_secret: secret }
      const checked = await validate({ ...own, ...more })
      if (checked === undefined || checked.issues) throw new Error(JSON.stringify(checked?.issues))
      return (plugin as PluginModule<unknown>).create(checked.value, services as never)
    },
    /** As at the start, but for what is stored. */
    reset(): void {
      for (const one of [upstream, other]) {
        one.person = alice
        one.instead = () => false
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([upstream[Symbol.asyncDispose](), other[Symbol.asyncDispose]()])
      await backend[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

/** The same for the tests of a file. Read it in tests alone: it is there when they run. */
export const useUpstreams = () => {
  let opened: Awaited<ReturnType<typeof openUpstreams>>
  beforeAll(async () => {
    opened = await openUpstreams()
  })
  afterAll(() => opened[Symbol.asyncDispose]())
  beforeEach(() => opened.reset())
  return () => opened
}
