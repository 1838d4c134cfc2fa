import type { StandardSchemaV1 } from '@standard-schema/spec'
import { findNearMiss } from '../../config/near-miss.js'
import type { SignInMethod } from '../interaction/sign-in-method.js'
import type { GrantHandler } from '../oauth/grants/grant.js'
import type { Contributions } from './contract.js'

const contributionNames: Readonly<Record<keyof Contributions, true>> = {
  grants: true,
  clientAuthenticators: true,
  signIn: true,
  accounts: true,
  consent: true,
  passwordChange: true,
  passwordReset: true,
  factorEnrolment: true,
  secondFactors: true,
  statusProvider: true,
  evidence: true,
  approvalNotifiers: true,
  authorizationDetails: true,
  signedRequests: true,
  close: true,
}

const didYouMean = (typed: string, words: readonly string[]): string => {
  const near = findNearMiss(typed, words)
  return near === undefined ? '' : `; did you mean \`${near}\`?`
}

const grantMembers: Readonly<Record<keyof GrantHandler, true>> = {
  grantType: true,
  params: true,
  clientAuthentication: true,
  takesAttestations: true,
  handle: true,
}

/** JavaScript has no compiler that would say so. Methods of a class are not among its own members, so that only names near ours are refused. */
const findGrantFault = (grant: GrantHandler): string | undefined => {
  if (typeof grant.grantType !== 'string' || typeof grant.handle !== 'function') return 'without grantType or handle'
  const { grantType, params, clientAuthentication: wanted } = grant as Readonly<Record<keyof GrantHandler, unknown>>
  if (!/^[\w-]+$/.test(grant.grantType) && !URL.canParse(grant.grantType))
    return `whose grantType is neither a name nor a URI: ${String(grantType)}`
  const standard = (params as Partial<StandardSchemaV1> | undefined)?.['~standard']
  if (params !== undefined && typeof standard?.validate !== 'function')
    return 'with params that are not a Standard Schema'
  const isList = Array.isArray(wanted) && wanted.length > 0 && wanted.every((method) => typeof method === 'string')
  if (wanted !== undefined && wanted !== 'confidential' && !isList)
    return `with clientAuthentication that is neither \`confidential\` nor a list of methods${typeof wanted === 'string' ? didYouMean(wanted, ['confidential']) : ''}`
  const misspelt = Object.keys(grant).find(
    (name) => !Object.hasOwn(grantMembers, name) && findNearMiss(name, Object.keys(grantMembers)) !== undefined,
  )
  return misspelt === undefined ? undefined : `with ${misspelt}${didYouMean(misspelt, Object.keys(grantMembers))}`
}

const methodKinds: readonly unknown[] = ['form', 'ceremony', 'redirect']

const findMethodFault = (method: SignInMethod): string | undefined => {
  const { id, kind, amr, after } = method as Readonly<Record<keyof SignInMethod, unknown>>
  const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string')
  if (typeof method.begin !== 'function' || typeof method.finish !== 'function') return 'without begin or finish'
  if (typeof id !== 'string' || !/^[a-z0-9][a-z0-9-]{0,31}$/.test(id))
    return `whose id is not a name of lower-case letters, digits and hyphens: ${String(id)}`
  if (!methodKinds.includes(kind)) return `whose kind is none of ${methodKinds.join(', ')}`
  if (!isNames(amr)) return 'without amr'
  return after === undefined || isNames(after) ? undefined : 'whose after is no list of ids'
}

/** What is wrong with what `create` returned, for the author of the plugin; undefined: nothing. */
export const findContributionFault = (contributions: unknown): string | undefined => {
  if (typeof contributions !== 'object' || contributions === null) return 'create returned no contributions'
  if ('login' in contributions)
    return 'create returned login, which signIn and accounts have replaced: see "Moving a plugin from the old port" in docs/sign-in.md'
  const unknown = Object.keys(contributions).find((name) => !Object.hasOwn(contributionNames, name))
  if (unknown !== undefined)
    return `create returned ${unknown}, which is not a contribution${didYouMean(unknown, Object.keys(contributionNames))}`
  const {
    grants = [],
    clientAuthenticators = [],
    signIn = [],
    accounts,
    consent,
    passwordChange,
    passwordReset,
    factorEnrolment,
    secondFactors = [],
    statusProvider,
    evidence = [],
    approvalNotifiers = [],
    authorizationDetails = [],
    signedRequests = [],
  } = contributions as Contributions
  const grantFault = grants.map(findGrantFault).find((fault) => fault !== undefined)
  if (grantFault !== undefined) return `create returned a grant ${grantFault}`
  if (
    !clientAuthenticators.every(
      (item) =>
        [typeof item.method, typeof item.detect, typeof item.authenticate].join() === 'string,function,function',
    )
  )
    return 'create returned a client authenticator without method, detect or authenticate'
  const methodFault = signIn.map(findMethodFault).find((fault) => fault !== undefined)
  if (methodFault !== undefined) return `create returned a sign-in method ${methodFault}`
  if (accounts !== undefined && typeof accounts.find !== 'function') return 'create returned accounts without find'
  if (
    consent !== undefined &&
    [typeof consent.id, typeof consent.begin, typeof consent.finish].join() !== 'string,function,function'
  )
    return 'create returned consent without id, begin or finish'
  if (passwordChange !== undefined && typeof passwordChange !== 'function')
    return 'create returned a passwordChange that is no function'
  if (passwordReset !== undefined && typeof passwordReset !== 'function')
    return 'create returned a passwordReset that is no function'
  if (passwordReset !== undefined && passwordChange === undefined)
    return 'create returned a passwordReset without a passwordChange'
  if (
    factorEnrolment !== undefined &&
    [typeof factorEnrolment.kind, typeof factorEnrolment.begin, typeof factorEnrolment.finish].join() !==
      'string,function,function'
  )
    return 'create returned a factorEnrolment without kind, begin or finish'
  if (!secondFactors.every((factor) => typeof factor.kind === 'string' && typeof factor.verify === 'function'))
    return 'create returned a second factor without kind or verify'
  if (statusProvider !== undefined && typeof statusProvider.current !== 'function')
    return 'create returned a status provider without current'
  if (!evidence.every((one) => typeof one.kind === 'string' && typeof one.verify === 'function'))
    return 'create returned evidence without kind or verify'
  if (!approvalNotifiers.every((one) => typeof one.name === 'string' && typeof one.notify === 'function'))
    return 'create returned an approval notifier without name or notify'
  if (
    !authorizationDetails.every(
      (one) => [typeof one.type, typeof one.check, typeof one.describe].join() === 'string,function,function',
    )
  )
    return 'create returned a type of authorization_details without type, check or describe'
  if (!signedRequests.every((one) => typeof one.purpose === 'string'))
    return 'create returned signedRequests without purpose'
  return undefined
}
