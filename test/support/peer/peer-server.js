import { createHmac, randomBytes, X509Certificate } from 'node:crypto'
import { createServer } from 'node:http'

/**
 * The peer: oidc-provider as its documentation has it for JWT access tokens, in a plain Node process (no TypeScript
 * loader, so that its memory is its own). Started by `peer.ts` with its settings as JSON in argv, ready when it sends
 * `ready`.
 *
 * What is done for it, so that the comparison is fair: its store is a `Map` that never evicts (its own memory adapter
 * keeps only 1,000 entries and would lose codes), NODE_ENV is production, and codes are minted inside the process
 * before the measurement, through its own models, by messages that no measured request waits for.
 */
// It warns at every start that it would rather have a newer Node than the oldest that Signet supports.
console.warn = () => undefined
const { Provider } = await import('oidc-provider')

const { issuer, port, alg, jwk, clients, resource, scope, stores, nonceSecret, certificates } = JSON.parse(
  process.argv[2],
)

const cookieKey = 'bench'
const records = new Map()
const grantMembers = new Map()
const sessions = new Map()

/** The adapter contract of oidc-provider over a `Map`. It can say neither "you lost" nor "durable", and needs not. */
class MapAdapter {
  constructor(model) {
    this.model = model
  }

  key(id) {
    return `${this.model}:${id}`
  }

  async upsert(id, payload) {
    records.set(this.key(id), payload)
    if (this.model === 'Session') sessions.set(payload.uid, this.key(id))
    if (payload.grantId !== undefined) {
      const members = grantMembers.get(payload.grantId)
      if (members === undefined) grantMembers.set(payload.grantId, [this.key(id)])
      else members.push(this.key(id))
    }
  }

  async find(id) {
    return records.get(this.key(id))
  }

  async findByUid(uid) {
    return records.get(sessions.get(uid))
  }

  async consume(id) {
    records.get(this.key(id)).consumed = Math.floor(Date.now() / 1000)
  }

  async destroy(id) {
    records.delete(this.key(id))
  }

  async revokeByGrantId(grantId) {
    for (const key of grantMembers.get(grantId) ?? []) records.delete(key)
    grantMembers.delete(grantId)
  }
}

/** Over MongoDB and Redis where they are given. */
const adapter = stores ? await (await import('./peer-adapter.js')).openAdapter(stores) : MapAdapter

const provider = new Provider(issuer, {
  adapter,
  clients,
  jwks: { keys: [jwk] },
  scopes: ['openid', 'offline_access', 'email', scope],
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  clientDefaults: { id_token_signed_response_alg: alg },
  ...(certificates && {
    clientAuthMethods: ['client_secret_basic', 'none', 'private_key_jwt', 'tls_client_auth'],
  }),
  enabledJWA: {
    idTokenSigningAlgValues: [alg],
    idTokenEncryptionAlgValues: ['ECDH-ES', 'RSA-OAEP-256'],
    idTokenEncryptionEncValues: ['A256GCM'],
  },
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: (_ctx, accountId, client) =>
    createHmac('sha256', 'known to all who read this benchmark')
      .update(`${client.sectorIdentifier}\n${accountId}`)
      .digest('base64url'),
  findAccount: (_ctx, sub) => ({
    accountId: sub,
    claims: async () => ({ sub, email: 'alice@bank.example', email_verified: true }),
  }),
  issueRefreshToken: async (_ctx, client, code) =>
    client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
  features: {
    devInteractions: { enabled: false },
    encryption: { enabled: true },
    clientCredentials: { enabled: true },
    dPoP: {
      enabled: true,
      nonceSecret: nonceSecret ? Buffer.from(nonceSecret, 'base64url') : randomBytes(32),
      requireNonce: () => true,
    },
    introspection: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    // The proxy has verified the certificate, as for Signet.
    mTLS: {
      enabled: certificates === true,
      certificateBoundAccessTokens: true,
      tlsClientAuth: true,
      getCertificate: (ctx) => new X509Certificate(decodeURIComponent(ctx.get('x-ssl-cert'))),
      certificateAuthorized: () => true,
      certificateSubjectMatches: (ctx, property, expected) =>
        property === 'tls_client_auth_subject_dn' &&
        new X509Certificate(decodeURIComponent(ctx.get('x-ssl-cert'))).subject === expected,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope,
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
        jwt: { sign: { alg } },
      }),
    },
  },
  ttl: { AuthorizationCode: 600, Grant: 86_400, RefreshToken: 86_400, IdToken: 3600 },
  cookies: { keys: [cookieKey] },
  routes: { userinfo: '/userinfo' },
})

/** What a person who signed in and consented would have got: one grant and one code. */
const mintCode = async ({ clientId, redirectUri, codeChallenge, scope: granted, forResource }) => {
  const client = await provider.Client.find(clientId)
  const grant = new provider.Grant({ accountId: 'alice', clientId })
  grant.addOIDCScope('openid offline_access email')
  grant.addResourceScope(resource, scope)
  const code = new provider.AuthorizationCode({
    accountId: 'alice',
    client,
    grantId: await grant.save(),
    redirectUri,
    codeChallenge,
    codeChallengeMethod: 'S256',
    scope: granted,
    ...(forResource ? { resource } : {}),
    claims: {},
    authTime: Math.floor(Date.now() / 1000),
    nonce: 'n-0S6_WzA2Mj',
    gty: 'authorization_code',
  })
  return code.save()
}

/** A browser in which somebody has signed in and has consented. */
const openSession = async (clientId) => {
  const grant = new provider.Grant({ accountId: 'alice', clientId })
  grant.addOIDCScope(`openid offline_access email ${scope}`)
  grant.addResourceScope(resource, scope)
  const session = new provider.Session()
  session.loginAccount({ accountId: 'alice', amr: ['pwd'] })
  session.grantIdFor(clientId, await grant.save())
  await session.save(86_400)
  const cookie = `_session=${session.id}`
  const signature = createHmac('sha1', cookieKey).update(cookie).digest('base64url')
  return `${cookie}; _session.sig=${signature}`
}

const together = 64

process.on('message', async ({ count, session, ...request }) => {
  if (session !== undefined) return process.send({ cookie: await openSession(session) })
  const codes = []
  while (codes.length < count) {
    const missing = Math.min(together, count - codes.length)
    codes.push(...(await Promise.all(Array.from({ length: missing }, () => mintCode(request)))))
  }
  process.send({ codes })
})

createServer(provider.callback()).listen(port, '127.0.0.1', () => process.send('ready'))
