import type { JsonObject } from '../json.js'
import type { Account } from '../oauth/subjects/account.js'
import type { GrantDecision, SenderConstraint } from '../oauth/grants/grant.js'
import { concealPeople } from './people-in-claims.js'
import { protocolClaims, requestedNames } from './claims.js'
import { bytesOf, findTooLarge } from './fit-claims.js'
import { accessTokenClaims, accessTokenProfile } from './profiles.js'
import type { TokenFrame, TokenSettings } from './token-frame.js'

/** The limit in bytes of JSON is two thirds of the room in an access token. */
const maxPluginClaims = 4096

/** The content of an access token before it is signed. */
export interface PreparedAccessToken {
  readonly claims: JsonObject
  /** The claims that were requested but left out because the token would be too long. */
  readonly dropped: readonly string[]
  /** The `sub` that the client gets instead of the local subject. */
  readonly pairwiseSubject?: string
}

/** Throws for a decision that sets claims of the core, or too many of its own, which is a bug in the plugin. */
const checkPluginClaims = ({ claims = {} }: GrantDecision): void => {
  const claimed = Object.keys(claims).find((name) => protocolClaims.has(name))
  if (claimed !== undefined) throw new Error(`a grant plugin set the claim ${claimed}, which is reserved for the core`)
  if (bytesOf(claims) > maxPluginClaims)
    throw new Error(`a grant plugin set claims of more than ${maxPluginClaims} bytes`)
}

/** Removes what does not fit: claims of the person, and names for `/userinfo`. */
const withoutNames = (claims: JsonObject, ofPerson: JsonObject, names: readonly string[]): JsonObject => {
  const { userinfo_claims: asked } = claims
  const named = Array.isArray(asked) ? asked.filter((name) => !names.includes(String(name))) : []
  const kept = Object.entries(claims).filter(([name]) => !(names.includes(name) && Object.hasOwn(ofPerson, name)))
  return { ...Object.fromEntries(kept), userinfo_claims: named.length === 0 ? undefined : named }
}

/** Pairs each name with itself, so that a list of names can be handled like claims. */
const entriesOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]))

/**
 * Builds the claims of an access token (RFC 9068 §2.2). Throws `invalid_request` when the token would be too long
 * even without the claims that `claims` requested.
 */
export const prepareAccessToken = (
  { issuer, ring, releases, subjects, accessTokenAlg }: TokenSettings,
  { client, scope, audience, issuedAt, expiresAt, jti, requestedClaims }: TokenFrame,
  decision: GrantDecision,
  account: Account | undefined,
  constraint: SenderConstraint | undefined,
): PreparedAccessToken => {
  if (decision.claims !== undefined) checkPluginClaims(decision)
  const clientId = client.client_id
  const { subject, authentication, authorizationDetails, actor, mayAct } = decision
  const userinfoClaims = requestedNames(requestedClaims, 'userinfo')
  // Claims of the grant itself take precedence.
  const added = releases
    .added('access_token', { clientId, scope, audience })
    .filter((name) => !Object.hasOwn(decision.claims ?? {}, name))
  const ofPerson = added.length === 0 ? undefined : releases.pick(account?.claims ?? {}, added)
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
  const { sub } = claims
  const pairwise = sub !== subject && typeof sub === 'string' ? { pairwiseSubject: sub } : undefined
  // The size is measured only when something can be left out, because signing checks it again.
  if (userinfoClaims.length === 0 && ofPerson === undefined) return { ...pairwise, claims, dropped: [] }
  const optional = { ...entriesOf(userinfoClaims), ...ofPerson }
  const dropped = findTooLarge(ring, accessTokenProfile, accessTokenAlg, claims, optional)
  return { ...pairwise, claims: dropped.length === 0 ? claims : withoutNames(claims, ofPerson ?? {}, dropped), dropped }
}
