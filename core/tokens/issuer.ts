import { epochSeconds, type Clock } from '../clock.js'
import type { Account } from '../oauth/account.js'
import type { JsonObject } from '../json.js'
import { newGrantId } from '../oauth/grant-id.js'
import { algorithms } from '../jose/algorithms.js'
import type { JwsAlg } from '../jose/jwk.js'
import { authorizationResponseSeconds, type KeyRing, type SignaturePriority } from '../keys/ports.js'
import type { Client } from '../oauth/client.js'
import type { EncryptAnswer, EncryptedAnswer } from '../oauth/encryption.js'
import { OAuthError } from '../oauth/errors.js'
import { createSubjects, type Subjects } from '../oauth/subjects.js'
import type { GrantDecision, SenderConstraint } from '../oauth/grant.js'
import { newOpaqueToken } from '../opaque-token.js'
import type { AccessTokenVerifier } from './access-token-verifier.js'
import type { ClaimReleases } from './claim-releases.js'
import { protocolClaims, requestedNames } from './claims.js'
import { bytesOf, findTooLarge } from './fit-claims.js'
import { concealPeople } from './people-in-claims.js'
import { createPrepared } from './prepared.js'
import {
  accessTokenClaims,
  accessTokenHash,
  accessTokenProfile,
  authorizationResponseProfile,
  idTokenClaims,
  idTokenProfile,
  introspectionProfile,
  userinfoProfile,
} from './profiles.js'
import { createSignToken, type SignatureRecord, type SignedToken } from './sign-token.js'
import { checkAudience, narrowScope, type Resource } from './within-registration.js'

export interface IssuerOptions {
  readonly issuer: string
  readonly ring: KeyRing
  readonly clock: Clock
  readonly accessTokenAlg: JwsAlg
  readonly idTokenAlg: JwsAlg
  readonly accessTokenTtl: number
  readonly idTokenTtl: number
  readonly defaultAudience: string
  readonly releases: ClaimReleases
  readonly resources: ReadonlyMap<string, Resource>
  /** Called for each access token. Absent where nobody will ask about them. */
  readonly accessTokenVerifier?: Pick<AccessTokenVerifier, 'signed'>
  /** How people are called towards clients. Absent where no client is pairwise. */
  readonly subjects?: Subjects
  /** ID tokens may be exchanged, so that their subjects must be found again. Default: false. */
  readonly sealIdTokens?: boolean
  /** Called for what clients may have encrypted. Absent where nobody gets what is signed. */
  readonly encrypt?: EncryptAnswer
}

/** What tokens will say once they are signed. The issuer that prepared them keeps their claims, and signs them once. */
export interface PreparedTokens {
  readonly client: Client
  /** The local one. */
  readonly subject: string
  /** What the client is told instead. */
  readonly pairwiseSubject?: string
  readonly scope: readonly string[]
  readonly audience: readonly string[]
  /** Seconds that the access token lives. */
  readonly expiresIn: number
  /** When it expires: seconds since the epoch. */
  readonly expiresAt: number
  /** The unit of revocation, which `jti` begins with. */
  readonly grantId: string
  readonly jti: string
  /** Claims that were asked for and left out, because the token would be too long. */
  readonly dropped: readonly string[]
}

export interface SignedTokens {
  readonly accessToken: string
  readonly idToken?: string
}

/** The claims of what is signed for a client. */
interface Content {
  readonly client: Client
  readonly accessToken: JsonObject
  readonly idToken?: JsonObject
}

export const createTokenIssuer = (options: IssuerOptions) => {
  const { clock, ring, releases } = options
  const sign = createSignToken(ring)
  const unsigned = createPrepared<PreparedTokens, Content>()
  const { encrypt = (_client, _answer, signed) => Promise.resolve(signed) } = options
  const { subjects = createSubjects() } = options

  const encrypted = async (client: Client, answer: EncryptedAnswer, signed: SignedToken): Promise<SignedToken> => ({
    ...signed,
    token: await encrypt(client, answer, signed.token),
  })

  return {
    /**
     * Holds the decision within the client's registration and gives it its claims. Throws `invalid_target`, `invalid_scope`,
     * `invalid_request` when a token would be too long without what was asked for by `claims`, `Unavailable`; a decision that
     * sets the core's claims, or more than 4 KiB of others, is a plugin's bug and becomes `server_error`.
     */
    prepare(
      client: Client,
      decision: GrantDecision,
      account: Account | undefined,
      constraint: SenderConstraint | undefined,
    ): PreparedTokens {
      const audience = decision.audience?.length ? decision.audience : [options.defaultAudience]
      checkAudience(audience, client, options.defaultAudience)
      const scope = narrowScope(decision.scope, client, audience, options.resources)
      const claimed = Object.keys(decision.claims ?? {}).find((name) => protocolClaims.has(name))
      if (claimed !== undefined)
        throw new Error(`a grant plugin set the claim ${claimed}, which is reserved for the core`)
      if (decision.claims !== undefined && bytesOf(decision.claims) > maxPluginClaims)
        throw new Error(`a grant plugin set claims of more than ${maxPluginClaims} bytes`)

      const issuedAt = epochSeconds(clock)
      const ttls = audience.map((name) => options.resources.get(name)?.access_token_ttl_secs ?? options.accessTokenTtl)
      const left = (decision.notAfter ?? Infinity) - issuedAt
      if (left < 1) throw new OAuthError('invalid_grant', 'The grant has expired.')
      const expiresIn = Math.min(...ttls, left)
      const expiresAt = issuedAt + expiresIn
      const jtiOnly = () => (decision.authentication ? newGrantId(clock) : newOpaqueToken().slice(0, 22))
      const grantId = decision.grant?.grantId ?? decision.grantId ?? jtiOnly()
      const jti = newJti(grantId)
      const { subject, authentication, authorizationDetails, actor, mayAct } = decision
      // Asked for under an earlier registration, perhaps, or by a plugin.
      const requestedClaims = decision.requestedClaims && releases.releasable(decision.requestedClaims, client)
      const { issuer } = options
      const clientId = client.client_id
      const userinfoClaims = requestedNames(requestedClaims, 'userinfo')
      const person = account?.claims ?? {}
      // What the grant says itself counts.
      const added = releases
        .added('access_token', { clientId, scope, audience })
        .filter((name) => !Object.hasOwn(decision.claims ?? {}, name))
      const ofPerson = added.length === 0 ? undefined : releases.pick(person, added)
      const open = accessTokenClaims({
        issuer,
        subject,
        clientId,
        issuedAt,
        audience,
        scope,
        expiresAt,
        jti,
        authentication,
        constraint,
        userinfoClaims,
        authorizationDetails,
        actor,
        mayAct,
        further: ofPerson === undefined ? decision.claims : { ...decision.claims, ...ofPerson },
      })
      const claims = concealPeople(client, open, subjects, 'sealed')
      // Measured only where something can be left out: what is signed is looked at once more as it is.
      const leftOut =
        userinfoClaims.length === 0 && ofPerson === undefined
          ? []
          : findTooLarge(ring, accessTokenProfile, options.accessTokenAlg, claims, {
              ...entriesOf(userinfoClaims),
              ...ofPerson,
            })
      const accessToken = leftOut.length === 0 ? claims : withoutNames(claims, ofPerson ?? {}, leftOut)
      const seen = claims['sub']
      const pairwiseSubject = seen !== subject && typeof seen === 'string' ? seen : undefined
      const told = pairwiseSubject === undefined ? undefined : { pairwiseSubject }
      const prepared = {
        ...told,
        client,
        subject,
        scope,
        audience,
        expiresIn,
        expiresAt,
        grantId,
        jti,
        dropped: leftOut,
      }
      if (!decision.idToken || authentication === undefined || !scope.includes('openid'))
        return unsigned.put(prepared, { client, accessToken })
      const further = releases.pick(person, [
        ...requestedNames(requestedClaims, 'id_token'),
        ...(client.include_claims_in_id_token === true ? releases.ofScopes(scope) : []),
        ...releases.added('id_token', { clientId, scope }),
      ])
      const jtiOfId = newJti(grantId)
      const openId = idTokenClaims({
        issuer,
        subject,
        clientId,
        issuedAt,
        expiresAt: issuedAt + Math.min(options.idTokenTtl, left),
        jti: jtiOfId,
        authentication,
        further,
      })
      const idToken = concealPeople(client, openId, subjects, options.sealIdTokens === true ? 'sealed' : 'unsealed')
      if (Object.keys(further).length === 0) return unsigned.put(prepared, { client, accessToken, idToken })
      const alg = client.id_token_signed_response_alg ?? options.idTokenAlg
      const at_hash = accessTokenHash('', algorithms[alg].accessTokenHash)
      const tooLarge = findTooLarge(ring, idTokenProfile, alg, { ...idToken, at_hash }, further)
      const kept = Object.entries(idToken).filter(([name]) => !tooLarge.includes(name))
      const dropped = [...new Set([...leftOut, ...tooLarge])]
      return unsigned.put({ ...prepared, dropped }, { client, accessToken, idToken: Object.fromEntries(kept) })
    },

    /**
     * Signs what this issuer prepared. Throws `Unavailable` when no key can; then nothing has been consumed, and `prepared`
     * is spent all the same, as after a signature: a second call throws. Each signature is added to `made` as it
     * is made: one that a later failure makes useless stands in the backend's own log all the same.
     */
    async sign(
      prepared: PreparedTokens,
      priority: SignaturePriority,
      signal: AbortSignal,
      made: SignatureRecord[],
    ): Promise<SignedTokens> {
      const { client, accessToken, idToken } = unsigned.take(prepared)
      const by = { priority, clientId: client.client_id, signal }
      const access = await sign(accessTokenProfile, options.accessTokenAlg, accessToken, by)
      made.push(access.record)
      options.accessTokenVerifier?.signed(access)
      if (idToken === undefined) return { accessToken: access.token }
      const alg = client.id_token_signed_response_alg ?? options.idTokenAlg
      const claims = { ...idToken, at_hash: accessTokenHash(access.token, algorithms[alg].accessTokenHash) }
      const id = await sign(idTokenProfile, alg, claims, by)
      made.push(id.record)
      return { accessToken: access.token, idToken: await encrypt(client, 'id_token', id.token) }
    },

    /** Claims for `/userinfo`: those of the scopes, of the rules, and those that the `claims` parameter named (OIDC Core §5.3.2). */
    userinfo(client: Client, account: Account, scope: readonly string[], requested: readonly string[]): JsonObject {
      const added = releases.added('userinfo', { clientId: client.client_id, scope })
      const names = [...releases.ofScopes(scope), ...added, ...requested]
      return { ...releases.pick(account.claims, names), sub: subjects.seenBy(client, account.subject) }
    },

    /** A signed `/userinfo` answer (OIDC Core §5.3.2), without the claims in `dropped`, for which it has no room. */
    async signUserinfo(client: Client, alg: JwsAlg, claims: JsonObject, signal: AbortSignal) {
      const { sub, ...personal } = claims
      const own = { sub, iss: options.issuer, aud: client.client_id }
      const dropped = findTooLarge(ring, userinfoProfile, alg, { ...personal, ...own }, personal)
      const kept = Object.fromEntries(Object.entries(personal).filter(([name]) => !dropped.includes(name)))
      const by = { priority: 'sign_in', clientId: client.client_id, signal } as const
      const signed = await sign(userinfoProfile, alg, { ...kept, ...own }, by)
      return { ...(await encrypted(client, 'userinfo', signed)), dropped }
    },

    /** A signed answer of `/authorize` (JARM §2.1): who answers, whom, until when, and the parameters of the response. */
    async signAuthorizationResponse(
      client: Client,
      alg: JwsAlg,
      response: Readonly<Record<string, string>>,
      { priority, signal }: { readonly priority: SignaturePriority; readonly signal: AbortSignal },
    ) {
      const exp = epochSeconds(clock) + authorizationResponseSeconds
      const content = { ...response, iss: options.issuer, aud: client.client_id, exp }
      const by = { priority, clientId: client.client_id, signal }
      return encrypted(client, 'authorization', await sign(authorizationResponseProfile, alg, content, by))
    },

    /** A signed `/introspect` answer (RFC 9701 §5): neither `sub` nor `exp` at the top, so that it is no token itself. */
    async signIntrospection(client: Client, alg: JwsAlg, answer: JsonObject, signal: AbortSignal) {
      const content = {
        iss: options.issuer,
        aud: client.client_id,
        iat: epochSeconds(clock),
        token_introspection: answer,
      }
      const by = { priority: 'machine', clientId: client.client_id, signal } as const
      return encrypted(client, 'introspection', await sign(introspectionProfile, alg, content, by))
    },
  }
}

export type TokenIssuer = ReturnType<typeof createTokenIssuer>

/** Bytes of JSON: two thirds of what an access token has room for. */
const maxPluginClaims = 4096

/** Of the claims of an access token, without what there is no room for: claims of the person, and names for `/userinfo`. */
const withoutNames = (claims: JsonObject, ofPerson: JsonObject, names: readonly string[]): JsonObject => {
  const { userinfo_claims: asked } = claims
  const named = Array.isArray(asked) ? asked.filter((name) => !names.includes(String(name))) : []
  const kept = Object.entries(claims).filter(([name]) => !(names.includes(name) && Object.hasOwn(ofPerson, name)))
  return { ...Object.fromEntries(kept), userinfo_claims: named.length === 0 ? undefined : named }
}

/** Each name goes with itself in a list of names. */
const entriesOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]))

/** A token names the grant that it came from, so that ending the grant ends it. */
const newJti = (grantId: string): string => `${grantId}.${newOpaqueToken().slice(0, 22)}`
