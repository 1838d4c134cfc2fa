import type { JsonObject } from '../json.js'
import { algorithms } from '../jose/algorithms.js'
import type { SignaturePriority } from '../keys/ports.js'
import type { Account } from '../oauth/subjects/account.js'
import type { Client } from '../oauth/clients/client.js'
import type { EncryptAnswer } from '../oauth/clients/encryption.js'
import type { GrantDecision, SenderConstraint } from '../oauth/grants/grant.js'
import { createSubjects } from '../oauth/subjects/subjects.js'
import { prepareAccessToken } from './access-token.js'
import type { AccessTokenVerifier } from './access-token-verifier.js'
import { idTokenAlgOf, prepareIdToken } from './id-token.js'
import { createPrepared } from './prepared.js'
import { accessTokenHash, accessTokenProfile, idTokenProfile } from './profiles.js'
import type { SignatureRecord } from '../keys/signature-record.js'
import { createSignToken } from './sign-token.js'
import { createSignedAnswers } from './signed-answers.js'
import { frameTokens, type TokenSettings } from './token-frame.js'

export interface IssuerOptions extends Omit<TokenSettings, 'subjects'>, Partial<Pick<TokenSettings, 'subjects'>> {
  /** The verifier that hears of each access token. It is absent where tokens are never looked up. */
  readonly accessTokenVerifier?: Pick<AccessTokenVerifier, 'signed'>
  /** Encrypts answers for clients that want this. It is absent where clients get no signed answers. */
  readonly encrypt?: EncryptAnswer
}

/**
 * The content of tokens before they are signed. The issuer that prepared them keeps their claims, and signs them
 * once.
 */
export interface PreparedTokens {
  readonly client: Client
  /** The local subject. */
  readonly subject: string
  /** The subject that the client gets instead. */
  readonly pairwiseSubject?: string
  readonly scope: readonly string[]
  readonly audience: readonly string[]
  /** The lifetime of the access token in seconds. */
  readonly expiresIn: number
  /** When the access token expires, in seconds since the epoch. */
  readonly expiresAt: number
  /** The grant is the unit of revocation; `jti` begins with its id. */
  readonly grantId: string
  readonly jti: string
  /** The claims that were requested but left out because the token would be too long. */
  readonly dropped: readonly string[]
}

export interface SignedTokens {
  readonly accessToken: string
  readonly idToken?: string
}

/** The claims of the tokens that are signed for a client. */
interface Content {
  readonly client: Client
  readonly accessToken: JsonObject
  readonly idToken?: JsonObject
}

export const createTokenIssuer = (options: IssuerOptions) => {
  const { issuer, clock, ring, releases, subjects = createSubjects() } = options
  const settings: TokenSettings = { ...options, subjects }
  const sign = createSignToken(ring)
  const unsigned = createPrepared<PreparedTokens, Content>()
  const { encrypt = (_client, _answer, signed) => Promise.resolve(signed) } = options

  return {
    ...createSignedAnswers({ issuer, clock, ring, sign, encrypt }),

    /**
     * Limits the decision to the client's registration and builds its claims. Throws `invalid_target`,
     * `invalid_scope`, `invalid_request` when a token would be too long even without the claims that `claims`
     * requested, and `Unavailable`. A decision that sets claims of the core, or more than 4 KiB of others, is a bug
     * in the plugin and becomes `server_error`.
     */
    prepare(
      client: Client,
      decision: GrantDecision,
      account: Account | undefined,
      constraint: SenderConstraint | undefined,
    ): PreparedTokens {
      const frame = frameTokens(settings, client, decision)
      const access = prepareAccessToken(settings, frame, decision, account, constraint)
      const id = prepareIdToken(settings, frame, decision, account)
      const { scope, audience, issuedAt, expiresAt, grantId, jti } = frame
      const { pairwiseSubject } = access
      const prepared = {
        ...(pairwiseSubject !== undefined && { pairwiseSubject }),
        ...{ client, subject: decision.subject, scope, audience, expiresAt, grantId, jti },
        expiresIn: expiresAt - issuedAt,
        dropped:
          id === undefined || id.dropped.length === 0
            ? access.dropped
            : [...new Set([...access.dropped, ...id.dropped])],
      }
      return unsigned.put(prepared, { client, accessToken: access.claims, ...(id && { idToken: id.claims }) })
    },

    /**
     * Signs what this issuer prepared. Throws `Unavailable` when no key can sign. In that case nothing has been
     * consumed, but `prepared` is used up as it is after a signature: a second call throws. Each signature is added
     * to `made` as it is made, because the backend's own log keeps it even if a later failure makes it useless.
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
      const alg = idTokenAlgOf(client, options)
      const claims = { ...idToken, at_hash: accessTokenHash(access.token, algorithms[alg].accessTokenHash) }
      const id = await sign(idTokenProfile, alg, claims, by)
      made.push(id.record)
      return { accessToken: access.token, idToken: await encrypt(client, 'id_token', id.token) }
    },

    /**
     * The claims for `/userinfo`: those of the scopes, of the rules, and those that the `claims` parameter named
     * (OIDC Core §5.3.2).
     */
    userinfo(client: Client, account: Account, scope: readonly string[], requested: readonly string[]): JsonObject {
      const added = releases.added('userinfo', { clientId: client.client_id, scope })
      const names = [...releases.ofScopes(scope), ...added, ...requested]
      return { ...releases.pick(account.claims, names), sub: subjects.seenBy(client, account.subject) }
    },
  }
}

export type TokenIssuer = ReturnType<typeof createTokenIssuer>
