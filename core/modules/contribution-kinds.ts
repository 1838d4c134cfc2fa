import type { AttestationStatusProvider, EvidenceVerifier, SecondFactorVerifier } from '../attestation/ports.js'
import type { ConsentMethod } from '../interaction/consent-method.js'
import type { FactorEnrolment } from '../interaction/factors/factor-enrolment.js'
import type { PasswordChange, PasswordReset } from '../interaction/password-change.js'
import type { SignInMethod } from '../interaction/sign-in-method.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { RequestPurpose } from '../keys/ports.js'
import type { AccountLookup } from '../oauth/subjects/account.js'
import type { AuthorizationDetailsType } from '../oauth/requests/authorization-details.js'
import type { ApprovalNotifier } from '../oauth/ciba/notifier.js'
import type { ClientAuthenticator } from '../oauth/clients/client-authenticator.js'
import type { GrantHandler } from '../oauth/grants/grant.js'
import { didYouMean, findGrantFault, findMethodFault, findNoFunction, needs } from './contribution-faults.js'

/** How messages name a contribution, which contributions are refused, and which name must be unique among plugins. */
export interface Kind {
  /** As in `create returned a grant …`. */
  readonly returned: string
  /** As in `provides the grant …`. If absent, any number of plugins may provide the same one. */
  readonly provided: string | undefined
  /** The member that holds the unique name. If absent, only one plugin may provide it. */
  readonly by: string | undefined
  /** Whether a plugin contributes a list rather than at most one. */
  readonly many: boolean
  readonly joined?: true
  /** The text after `returned` in the message. `beside` holds everything that the plugin contributes. */
  findFault(one: unknown, beside: Readonly<Record<string, unknown>>): string | undefined
}

interface KindOf<T> extends Kind {
  readonly by: (keyof T & string) | undefined
  findFault(one: T, beside: Readonly<Record<string, unknown>>): string | undefined
}

/** A request that a plugin needs signed. */
interface RequestNeed {
  readonly purpose: RequestPurpose
  readonly alg?: JwsAlg | undefined
}

type Many<T> = KindOf<T> & { readonly many: true }
type One<T> = KindOf<T> & { readonly many: false }

const kindOf = <T>(
  returned: string,
  provided: string | undefined,
  findFault: KindOf<T>['findFault'],
  by?: keyof T & string,
): Omit<KindOf<T>, 'many'> => ({ returned, provided, findFault, by })
const many = <T>(...columns: Parameters<typeof kindOf<T>>): Many<T> => ({ ...kindOf(...columns), many: true })
const one = <T>(...columns: Parameters<typeof kindOf<T>>): One<T> => ({ ...kindOf(...columns), many: false })

/** Contributions of several plugins that `createRegistries` combines itself. */
const joined = <K extends Kind>(kind: K): K & { readonly joined: true } => ({ ...kind, joined: true })

/**
 * Every kind of contribution, in the order in which faults are reported. Contract, checks and registries are derived
 * from this table.
 */
export const kinds = {
  /** Keyed by `grant_type`. */
  grants: many<GrantHandler>('a grant', 'grant', findGrantFault, 'grantType'),
  /** Keyed by `token_endpoint_auth_method`. */
  clientAuthenticators: many<ClientAuthenticator>(
    'a client authenticator',
    'client authentication method',
    needs(['method'], ['detect', 'authenticate']),
    'method',
  ),
  /** Sign-in methods, keyed by `id`, in the order of the configuration. */
  signIn: many<SignInMethod>('a sign-in method', 'sign-in method', findMethodFault, 'id'),
  /** Account lookups. Several plugins may have one; they are asked in order until one knows the subject. */
  accounts: joined(one<AccountLookup>('accounts', undefined, needs([], ['find']))),
  /** Asks for consent elsewhere, in place of the core's own page. */
  consent: one<ConsentMethod>('consent', 'page for consent', needs(['id'], ['begin', 'finish'])),
  passwordChange: one<PasswordChange>('a passwordChange', 'change of passwords decision', findNoFunction),
  /** Together with `passwordChange`, sets a new password through a recovery link. */
  passwordReset: one<PasswordReset>(
    'a passwordReset',
    'reset of passwords decision',
    (reset, beside) =>
      findNoFunction(reset) ?? (beside['passwordChange'] === undefined ? 'without a passwordChange' : undefined),
  ),
  /** How people add a factor at `/account`, keyed by `kind`. */
  factorEnrolment: joined(
    one<FactorEnrolment>('a factorEnrolment', 'enrolment of the factor', needs(['kind'], ['begin', 'finish']), 'kind'),
  ),
  /** Keyed by `kind`. */
  secondFactors: many<SecondFactorVerifier>('a second factor', 'second factor', needs(['kind'], ['verify']), 'kind'),
  /** Keyed by `kind`. */
  evidence: many<EvidenceVerifier>('evidence', 'kind of evidence', needs(['kind'], ['verify']), 'kind'),
  /** Wake devices when a request waits for a person's approval. Keyed by `name`. */
  approvalNotifiers: many<ApprovalNotifier>(
    'an approval notifier',
    'approval notifier',
    needs(['name'], ['notify']),
    'name',
  ),
  /** Added to the configured `authorization_details_types`. Keyed by `type`. */
  authorizationDetails: many<AuthorizationDetailsType>(
    'a type of authorization_details',
    'type of authorization_details',
    needs(['type'], ['check', 'describe']),
    'type',
  ),
  /**
   * Requests that a plugin has `signedRequests` sign; without `alg`, with any key of that purpose. `signet check`
   * reports those that no key can sign.
   */
  signedRequests: joined(many<RequestNeed>('signedRequests', undefined, needs(['purpose'], []))),
  statusProvider: one<AttestationStatusProvider>('a status provider', 'status provider', needs([], ['current'])),
}

type Kinds = typeof kinds
export type KindName = keyof Kinds
export type ItemOf<Name extends KindName> = Kinds[Name] extends KindOf<infer T> ? T : never
type Those<Mark> = { [Name in KindName]: Kinds[Name] extends Mark ? Name : never }[KindName]
type Joined = Those<{ readonly joined: true }>
type List = Those<{ readonly many: true }>

/** What a plugin may contribute, by kind. */
export type Contributed = {
  readonly [Name in keyof Kinds]?: Name extends List ? readonly ItemOf<Name>[] : ItemOf<Name>
}

/** What all plugins provide, for each kind that is not combined. */
export type Registered = { readonly [Name in Exclude<List, Joined>]: ReadonlyMap<string, ItemOf<Name>> } & {
  readonly [Name in Exclude<KindName, List | Joined>]?: ItemOf<Name>
}

const rows = Object.entries(kinds) as readonly (readonly [KindName, Kind])[]
const names = [...Object.keys(kinds), 'close']

/** Each contribution of a plugin, with its kind. */
export function* listContributions(contributions: object): Generator<{ name: KindName; kind: Kind; one: unknown }> {
  for (const [name, kind] of rows) {
    const value = (contributions as Readonly<Record<string, unknown>>)[name]
    const all = value === undefined ? [] : kind.many ? (value as readonly unknown[]) : [value]
    for (const one of all) yield { name, kind, one }
  }
}

/** What is wrong with the result of `create`, for the plugin's author, or undefined. */
export const findContributionFault = (contributions: unknown): string | undefined => {
  if (typeof contributions !== 'object' || contributions === null) return 'create returned no contributions'
  if ('login' in contributions)
    return 'create returned login, which signIn and accounts have replaced: see "Moving a plugin from the old port" in docs/sign-in.md'
  const unknown = Object.keys(contributions).find((name) => !names.includes(name))
  if (unknown !== undefined)
    return `create returned ${unknown}, which is not a contribution${didYouMean(unknown, names)}`
  for (const { kind, one } of listContributions(contributions)) {
    const fault = kind.findFault(one, contributions as Readonly<Record<string, unknown>>)
    if (fault !== undefined) return `create returned ${kind.returned} ${fault}`
  }
  return undefined
}
