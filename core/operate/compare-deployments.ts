import { ConfigurationError } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import type { AttestationContent } from '../attestation/read-attestation.js'
import { epochSeconds, type Clock } from '../clock.js'
import type { Account } from '../oauth/subjects/account.js'
import { algorithms } from '../jose/algorithms.js'
import { parseCompactJws } from '../jose/compact-jws.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyRing } from '../keys/ports.js'
import { verifySignature } from '../jose/verify-signature.js'
import type { Client } from '../oauth/clients/client.js'
import type { GrantDecision } from '../oauth/grants/grant.js'
import type { AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'
import { createClaimReleases } from '../tokens/claim-releases.js'
import { createTokenIssuer } from '../tokens/issuer.js'
import type { SignatureRecord } from '../keys/signature-record.js'
import type { SignedToken } from '../tokens/sign-token.js'
import { accessTokenHash } from '../tokens/profiles.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { compareOutcomes, notIssued, type Difference, type Issued, type Outcome } from './compare-outcomes.js'
import { auditProbes } from '../keys/lifecycle/audited-probes.js'
import { openRing } from '../keys/lifecycle/open-ring.js'
import { createSignerProviders } from '../modules/registries.js'
import { collections } from '../collections/collections.js'
import { openStores } from '../collections/stores.js'
import type { InventoryEntry } from '../keys/lifecycle/inventory.js'
import { expandSlots, slotsOf } from '../keys/slots/expand-slots.js'
import { readSlots } from '../keys/slots/slot-store.js'
import { openAttestationTokens } from '../host/attestation-endpoints.js'

/** One of the two deployments to compare. */
export interface ComparedDeployment {
  readonly checked: CheckedConfiguration
  /** The same fixed time for both. */
  readonly clock: Clock
  readonly log: Log
  /** Every signature is recorded; no token leaves the process. */
  readonly audit: AuditLog
}

export interface ComparedToken {
  readonly name: string
  readonly alg: string
  readonly left: string
  readonly right: string
  readonly verdict: 'alike' | 'alike but for the issuers' | 'different' | 'issued by neither'
}

export interface Comparison {
  readonly tokens: readonly ComparedToken[]
  readonly differences: readonly Difference[]
  /** False when anything differs except `kid`, signature, `jti` and what depends on the issuers. */
  readonly alike: boolean
}

const sub = '248289761001'

const account: Account = {
  subject: sub,
  claims: {
    name: 'Alice Adams',
    email: 'alice@example.com',
    email_verified: true,
    address: { formatted: '1 Example Street' },
  },
}

const clientFor = (config: Config, more: Partial<Client> = {}): Client => ({
  client_id: 'signet-compare',
  application_type: 'web',
  redirect_uris: [],
  grant_types: [],
  response_types: [],
  scope: config.scopes_supported,
  token_endpoint_auth_method: 'none',
  allowed_audiences: config.resources.map(({ identifier }) => identifier),
  security_profile: 'oauth2',
  metadata: {},
  ...more,
})

const person = (config: Config, clock: Clock): GrantDecision => ({
  subject: sub,
  scope: config.scopes_supported,
  idToken: true,
  authentication: {
    auth_time: Math.floor(clock() / 1000),
    nonce: 'n-0S6_WzA2Mj',
    acr: '1',
    amr: ['pwd'],
    sid: 'sid-1',
  },
  requestedClaims: { id_token: { email: null, email_verified: { essential: true } }, userinfo: { name: null } },
})

const deviceAt = (clock: Clock): AttestationContent => ({
  principal: { subject: sub, principalId: 'signet-compare', principalType: 'device' },
  jkt: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I',
  attributes: { model: 'P1' },
  enrolledAt: epochSeconds(clock),
})

const readToken = async (token: string, ring: KeyRing): Promise<Issued> => {
  const jws = parseCompactJws(token)
  const kid = jws?.header['kid']
  const key = typeof kid === 'string' ? ring.publishedKey(kid) : undefined
  if (jws === undefined || key === undefined || jws.header['alg'] !== key.alg)
    throw new Error('the key of the token is not published')
  if (!(await verifySignature(key, jws.signingInput, jws.signature)))
    throw new Error('the signature does not verify with the published key')
  return { header: jws.header, claims: jws.payload }
}

/** `at_hash` depends on the signature of the access token, so it is verified here and not compared. */
const checkHash = (issued: Issued, accessToken: string, alg: JwsAlg): Issued => {
  const { at_hash, ...claims } = issued.claims
  if (at_hash !== accessTokenHash(accessToken, algorithms[alg].accessTokenHash))
    throw new Error('at_hash is not that of the access token')
  return { header: issued.header, claims: { ...claims, at_hash: 'of the access token' } }
}

/** The orders given to both deployments, by name. */
interface Orders {
  readonly resources: readonly string[]
  readonly idTokenAlgs: readonly JwsAlg[]
  readonly userinfoAlgs: readonly JwsAlg[]
  readonly introspectionAlgs: readonly JwsAlg[]
}

const ordersOf = (left: Side, right: Side): Orders => {
  const both = <T>(find: (side: Side) => readonly T[]): readonly T[] => [...new Set([...find(left), ...find(right)])]
  return {
    resources: both(({ config }) => config.resources.map(({ identifier }) => identifier)),
    idTokenAlgs: both(({ ring }) => ring.algorithms('id_token')),
    userinfoAlgs: both(({ ring }) => ring.algorithms('userinfo')),
    introspectionAlgs: both(({ ring }) => ring.algorithms('introspection')),
  }
}

interface Side {
  readonly config: Config
  readonly ring: KeyRing
  /** Issues and verifies every token, by its name. */
  issue(orders: Orders): Promise<ReadonlyMap<string, Outcome>>
}

/** Keys of slots are those of the deployment's own store. */
const readInventory = async (config: Config): Promise<readonly InventoryEntry[]> => {
  if (slotsOf(config).length === 0) return expandSlots(config.keys, new Map())
  await using stores = await openStores(config, Date.now)
  return expandSlots(config.keys, await readSlots(collections(stores).keySlots))
}

const withSide = async <T>(deployment: ComparedDeployment, use: (side: Side) => Promise<T>): Promise<T> => {
  const { checked, clock, log, audit } = deployment
  const { config, modules } = checked
  await using providers = await createSignerProviders(modules.signers, { clock, log })
  const guarded = [...providers.byName].map(([name, provider]) => [name, auditProbes(name, provider, audit)] as const)
  await using ring = await openRing(config, await readInventory(config), new Map(guarded), clock)
  return await use({ config, ring, issue: (orders) => issueAll(config, ring, clock, audit, orders) })
}

const issueAll = async (config: Config, ring: KeyRing, clock: Clock, audit: AuditLog, orders: Orders) => {
  const issuer = createTokenIssuer({
    issuer: config.issuer,
    ring,
    clock,
    accessTokenAlg: config.access_token_signing_alg,
    idTokenAlg: config.id_token_signing_alg,
    accessTokenTtl: config.access_token_ttl_secs,
    idTokenTtl: config.id_token_ttl_secs,
    defaultAudience: config.default_audience,
    releases: createClaimReleases(config),
    resources: new Map(config.resources.map((resource) => [resource.identifier, resource])),
  })
  const outcomes = new Map<string, Outcome>()
  const signal = AbortSignal.timeout(30_000)

  const attempt = async (names: readonly string[], issue: () => Promise<readonly Issued[]>): Promise<void> => {
    try {
      const issued = await issue()
      for (const [index, name] of names.entries()) outcomes.set(name, issued[index] ?? notIssued)
    } catch (error) {
      const failure = error instanceof Error ? error.message : 'unknown error'
      for (const name of names) outcomes.set(name, { failure })
    }
  }

  const issueTokens = async (client: Client, decision: GrantDecision): Promise<readonly Issued[]> => {
    const prepared = issuer.prepare(client, decision, decision.authentication && account, undefined)
    const made: SignatureRecord[] = []
    const record = () =>
      audit.record({ event: 'token.signed', jti: prepared.jti, purpose: 'comparison', signatures: made })
    const signed = await issuer.sign(prepared, 'machine', signal, made).finally(record)
    const access = await readToken(signed.accessToken, ring)
    if (signed.idToken === undefined) return [access]
    const alg = client.id_token_signed_response_alg ?? config.id_token_signing_alg
    return [access, checkHash(await readToken(signed.idToken, ring), signed.accessToken, alg)]
  }

  const issueOne = async (sign: () => Promise<SignedToken>): Promise<readonly Issued[]> => {
    const { token, record } = await sign()
    await audit.record({ event: 'token.signed', purpose: 'comparison', signatures: [record] })
    return [await readToken(token, ring)]
  }

  const service = clientFor(config)
  const asService = { subject: service.client_id, scope: config.scopes_supported.filter((name) => name !== 'openid') }
  await attempt(['access token of a service'], () => issueTokens(service, asService))
  for (const resource of orders.resources) {
    const names = [`access token of a service for ${resource}`]
    await attempt(names, () => issueTokens(service, { ...asService, audience: [resource] }))
    const both = [`access token of a person for ${resource}`, `id_token with ${resource}`]
    await attempt(both, () => issueTokens(service, { ...person(config, clock), audience: [resource] }))
  }
  await attempt(['access token of a person', 'id_token'], () => issueTokens(service, person(config, clock)))
  for (const alg of orders.idTokenAlgs) {
    const client = clientFor(config, { id_token_signed_response_alg: alg })
    const names = [`access token with an id_token, ${alg}`, `id_token with ${alg}`]
    await attempt(names, () => issueTokens(client, person(config, clock)))
  }
  const claims = issuer.userinfo(service, account, config.scopes_supported, ['name'])
  for (const alg of orders.userinfoAlgs)
    await attempt([`userinfo with ${alg}`], () => issueOne(() => issuer.signUserinfo(service, alg, claims, signal)))
  for (const alg of orders.introspectionAlgs)
    await attempt([`introspection with ${alg}`], () =>
      issueOne(() => issuer.signIntrospection(service, alg, { active: true, sub }, signal)),
    )
  const attestations = config.attestation && openAttestationTokens(config, config.attestation, { ring, clock })
  if (attestations !== undefined)
    await attempt(['attestation'], () =>
      issueOne(() => attestations.sign(attestations.prepare(deviceAt(clock)), 'enrolment', signal)),
    )
  return outcomes
}

const memberOf = (outcome: Outcome, name: string): string => {
  const value = 'failure' in outcome ? undefined : outcome.header[name]
  return typeof value === 'string' ? value : ''
}

/**
 * Has both deployments issue the same tokens for a client and an account that do not exist, verifies each with its
 * own published key, and compares headers and claims. Throws `ConfigurationError` when a key cannot be used, and
 * `Unavailable`.
 */
export const compareDeployments = (left: ComparedDeployment, right: ComparedDeployment): Promise<Comparison> =>
  withSide(left, (a) =>
    withSide(right, async (b) => {
      const orders = ordersOf(a, b)
      const [first, second] = [await a.issue(orders), await b.issue(orders)]
      const issuers = [a.config.issuer, b.config.issuer] as const
      const names = [...new Set([...first.keys(), ...second.keys()])]
      const rows = names.map((name) => {
        const [one, other] = [first.get(name) ?? notIssued, second.get(name) ?? notIssued]
        return { name, one, other, found: compareOutcomes(name, one, other, issuers) }
      })
      const differences = rows.flatMap(({ found }) => found)
      if (rows.length === 0) throw new ConfigurationError([{ path: '', message: 'nothing can be issued' }])
      return {
        tokens: rows.map(({ name, one, other, found }): ComparedToken => {
          const different = found.some(({ allowed }) => !allowed)
          const same =
            one === notIssued ? 'issued by neither' : found.length > 0 ? 'alike but for the issuers' : 'alike'
          const verdict = different ? 'different' : same
          const alg = memberOf(one, 'alg') || memberOf(other, 'alg')
          return { name, alg, left: memberOf(one, 'kid'), right: memberOf(other, 'kid'), verdict }
        }),
        differences,
        alike: differences.every(({ allowed }) => allowed),
      }
    }),
  )
