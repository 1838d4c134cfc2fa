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

/** What messages call a contribution, which one is refused, and under which name two plugins cannot both provide one. */
export interface Kind {
  /** As in `create returned a grant …`. */
  readonly returned: string
  /** As in `provides the grant …`. Absent: any number of plugins may provide the same. */
  readonly provided: string | undefined
  /** The member that is the name. Absent: one plugin alone may provide it. */
  readonly by: string | undefined
  /** A plugin contributes a list; otherwise one at most. */
  readonly many: boolean
  readonly joined?: true
  /** What follows `returned` in the message. `beside` is all that the plugin contributes. */
  findFault(one: unknown, beside: Readonly<Record<string, unknown>>): string | undefined
}

interface KindOf<T> extends Kind {
  readonly by: (keyof T & string) | undefined
  findFault(one: T, beside: Readonly<Record<string, unknown>>): string | undefined
}

/** What a plugin has signed. */
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

/** What several plugins contribute is put together by `createRegistries` itself. */
const joined = <K extends Kind>(kind: K): K & { readonly joined: true } => ({ ...kind, joined: true })

/** Each kind of contribution, in the order in which faults are reported; contract, checks and registries follow. */
export const kinds = {
  /** By `grant_type`. */
  grants: many<GrantHandler>('a grant', 'grant', findGrantFault, 'grantType'),
  /** By `token_endpoint_auth_method`. */
  clientAuthenticators: many<ClientAuthenticator>(
    'a client authenticator',
    'client authentication method',
    needs(['method'], ['detect', 'authenticate']),
    'method',
  ),
  /** Ways to sign in, by `id`, in the order of the configuration. */
  signIn: many<SignInMethod>('a sign-in method', 'sign-in method', findMethodFault, 'id'),
  /** Where accounts are found. Several plugins may have one: they are asked in order, until one knows the subject. */
  accounts: joined(one<AccountLookup>('accounts', undefined, needs([], ['find']))),
  /** Asks for consent elsewhere, instead of the core's own page. */
  consent: one<ConsentMethod>('consent', 'page for consent', needs(['id'], ['begin', 'finish'])),
  passwordChange: one<PasswordChange>('a passwordChange', 'change of passwords decision', findNoFunction),
  /** With `passwordChange`: a new password by a recovery link. */
  passwordReset: one<PasswordReset>(
    'a passwordReset',
    'reset of passwords decision',
    (reset, beside) =>
      findNoFunction(reset) ?? (beside['passwordChange'] === undefined ? 'without a passwordChange' : undefined),
  ),
  /** How people add a factor at `/account`, by `kind`. */
  factorEnrolment: joined(
    one<FactorEnrolment>('a factorEnrolment', 'enrolment of the factor', needs(['kind'], ['begin', 'finish']), 'kind'),
  ),
  /** By `kind`. */
  secondFactors: many<SecondFactorVerifier>('a second factor', 'second factor', needs(['kind'], ['verify']), 'kind'),
  /** By `kind`. */
  evidence: many<EvidenceVerifier>('evidence', 'kind of evidence', needs(['kind'], ['verify']), 'kind'),
  /** They wake devices when something waits for a person's approval. By `name`. */
  approvalNotifiers: many<ApprovalNotifier>(
    'an approval notifier',
    'approval notifier',
    needs(['name'], ['notify']),
    'name',
  ),
  /** Beside the `authorization_details_types` of the configuration. By `type`. */
  authorizationDetails: many<AuthorizationDetailsType>(
    'a type of authorization_details',
    'type of authorization_details',
    needs(['type'], ['check', 'describe']),
    'type',
  ),
  /** What it has `signedRequests` sign; without `alg` by any key with the purpose. `check` reports what no key can sign. */
  signedRequests: joined(many<RequestNeed>('signedRequests', undefined, needs(['purpose'], []))),
  statusProvider: one<AttestationStatusProvider>('a status provider', 'status provider', needs([], ['current'])),
}

type Kinds = typeof kinds
export type KindName = keyof Kinds
export type ItemOf<Name extends KindName> = Kinds[Name] extends KindOf<infer T> ? T : never
type Those<Mark> = { [Name in KindName]: Kinds[Name] extends Mark ? Name : never }[KindName]
type Joined = Those<{ readonly joined: true }>
type List = Those<{ readonly many: true }>

/** What a plugin may contribute of each kind. */
export type Contributed = {
  readonly [Name in keyof Kinds]?: Name extends List ? readonly ItemOf<Name>[] : ItemOf<Name>
}

/** What all plugins provide of each kind that is not joined. */
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

/** What is wrong with what `create` returned, for the author of the plugin; undefined: nothing. */
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
