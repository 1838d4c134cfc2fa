import type { JsonObject, JsonValue } from '../json.js'
import { filterClaims } from '../oauth/requests/claims-parameter.js'
import type { Client } from '../oauth/clients/client.js'
import type { RequestedClaims } from '../oauth/grants/grant.js'
import { isFor, valueOf, type ClaimPlace, type ClaimRule, type Recipient } from './claim-rules.js'
import { findClaimFault, reservedClaims, standardScopeClaims } from './claims.js'

export interface ClaimPolicy {
  /** The scopes of the deployment, with the claims that each one adds to those of OIDC Core §5.4. */
  readonly scopes: readonly { readonly name: string; readonly claims: readonly string[] }[]
  /** The rules, keyed by the name of the claim in tokens. */
  readonly claims: Readonly<Record<string, ClaimRule>>
}

/** Decides which claims of people are released. It is made once from the configuration and used for each token. */
export interface ClaimReleases {
  /** The claims that clients can get, for discovery. */
  readonly supported: readonly string[]
  /** Returns true when a scope or a rule releases this claim. */
  isReleased(name: string): boolean
  /** Returns true when some released claim takes its value from the account claim of this name. */
  isSource(name: string): boolean
  /** The claims that these scopes stand for. */
  ofScopes(scope: readonly string[]): readonly string[]
  /**
   * The claims that rules release there in addition to those of scopes. A claim that a scope stands for always needs
   * that scope.
   */
  added(place: ClaimPlace, recipient: Recipient): readonly string[]
  /**
   * The claims that the `claims` parameter may release to a client. A claim, in any language (`name#de`, OIDC Core
   * §5.2), is releasable if it belongs to a scope that the client registered. All others are ignored, like claims
   * that are not understood (OIDC Core §5.5).
   */
  releasable(requested: RequestedClaims, client: Pick<Client, 'scope'>): RequestedClaims
  /**
   * Returns what an account has for these claims. An account cannot set protocol claims, nor a standard claim of the
   * wrong type.
   */
  pick(account: JsonObject, names: readonly string[]): Record<string, JsonValue>
}

const none: readonly string[] = []

export const createClaimReleases = ({ scopes, claims }: ClaimPolicy): ClaimReleases => {
  const claimsOf = new Map<string, readonly string[]>()
  const scopesOf = new Map<string, string[]>()
  for (const { name, claims: further } of scopes) {
    const names = [...new Set([...(standardScopeClaims.get(name) ?? []), ...further])]
    claimsOf.set(name, names)
    for (const claim of names) scopesOf.set(claim, [...(scopesOf.get(claim) ?? []), name])
  }
  /** The claim `name#de` is released together with `name`. */
  const withoutLanguage = (claim: string): string => claim.split('#')[0] ?? claim
  const scopesFor = (claim: string): readonly string[] | undefined =>
    scopesOf.get(claim) ?? scopesOf.get(withoutLanguage(claim))

  const rules = new Map(Object.entries(claims))
  const rulesIn = (place: ClaimPlace) => [...rules].filter(([, rule]) => rule.in.includes(place))
  const placed = {
    id_token: rulesIn('id_token'),
    userinfo: rulesIn('userinfo'),
    access_token: rulesIn('access_token'),
  } satisfies Record<ClaimPlace, unknown>
  const released = new Set([...scopesOf.keys(), ...Object.values(placed).flatMap((list) => list.map(([name]) => name))])
  const sources = new Set(
    [...released].flatMap((name) => (rules.get(name)?.value === undefined ? (rules.get(name)?.from ?? name) : [])),
  )

  return {
    supported: [...new Set([...scopesOf.keys(), ...[...placed.id_token, ...placed.userinfo].map(([name]) => name)])],
    isReleased: (name) => released.has(name),
    isSource: (name) => sources.has(name) || sources.has(withoutLanguage(name)),
    ofScopes: (scope) => scope.flatMap((name) => claimsOf.get(name) ?? none),
    added(place, recipient) {
      const candidates = placed[place]
      if (candidates.length === 0) return none
      return candidates.flatMap(([name, rule]) => {
        const needed = scopesFor(name)
        const inScope = needed === undefined || needed.some((scope) => recipient.scope.includes(scope))
        return inScope && isFor(rule, recipient) ? [name] : []
      })
    },
    releasable: (requested, client) =>
      filterClaims(requested, (claim) => scopesFor(claim)?.some((scope) => client.scope.includes(scope)) === true),
    pick(account, names) {
      const picked: Record<string, JsonValue> = {}
      for (const name of names) {
        const value = reservedClaims.has(name) ? undefined : valueOf(name, rules.get(name), account)
        if (value === undefined || value === null || findClaimFault(name, value) !== undefined) continue
        picked[name] = value
      }
      return picked
    },
  }
}
