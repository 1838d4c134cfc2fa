import type { StandardSchemaV1 } from '@standard-schema/spec'
import { findNearMiss } from '../near-miss.js'
import type { SignInMethod } from '../interaction/sign-in-method.js'
import type { GrantHandler } from '../oauth/grants/grant.js'

export const didYouMean = (typed: string, words: readonly string[]): string => {
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

/**
 * JavaScript has no compiler to report this. Methods of a class are not own members, so only names that resemble ours
 * are refused.
 */
export const findGrantFault = (grant: GrantHandler): string | undefined => {
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

export const findMethodFault = (method: SignInMethod): string | undefined => {
  const { id, kind, amr, after } = method as Readonly<Record<keyof SignInMethod, unknown>>
  const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string')
  if (typeof method.begin !== 'function' || typeof method.finish !== 'function') return 'without begin or finish'
  if (typeof id !== 'string' || !/^[a-z0-9][a-z0-9-]{0,31}$/.test(id))
    return `whose id is not a name of lower-case letters, digits and hyphens: ${String(id)}`
  if (!methodKinds.includes(kind)) return `whose kind is none of ${methodKinds.join(', ')}`
  if (!isNames(amr)) return 'without amr'
  return after === undefined || isNames(after) ? undefined : 'whose after is no list of ids'
}

/** Checks that members are strings or functions. A fault names all that are not. */
export const needs =
  <T>(strings: readonly (keyof T & string)[], functions: readonly (keyof T & string)[]) =>
  (one: T): string | undefined => {
    const has = (type: string) => (name: keyof T) => typeof one[name] === type
    if (strings.every(has('string')) && functions.every(has('function'))) return undefined
    return `without ${[...strings, ...functions].join(', ').replace(/, (\w+)$/, ' or $1')}`
  }

export const findNoFunction = (one: unknown): string | undefined =>
  typeof one === 'function' ? undefined : 'that is no function'
