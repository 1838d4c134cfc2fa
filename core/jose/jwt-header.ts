import { isOfType } from '../../libraries/wire/media-type.js'
import type { JsonObject } from '../json.js'
import { findAlgorithm } from './algorithms.js'
import type { JwsAlg } from './jwk.js'
import type { NamedKey } from './key-set.js'

export interface HeaderRules {
  /**
   * Accepted media types in `typ`; `undefined` accepts a token without `typ`. Any other type is another kind of token
   * (RFC 8725 §3.11).
   */
  readonly types: readonly unknown[]
  /** The only algorithm that the sender registered. If absent, any supported one. */
  readonly alg?: JwsAlg | undefined
  /** The accepted algorithms. If absent, any supported one. */
  readonly accepted?: readonly JwsAlg[] | undefined
}

/**
 * The key that an untrusted JWT names, or what is wrong with its header, in constant words. The algorithm is never
 * `none` and never symmetric (RFC 8725 §3.1).
 */
export const readJwtHeader = (
  header: JsonObject,
  { types, alg: registered, accepted }: HeaderRules,
): NamedKey | string => {
  const { kid, typ } = header
  if (!isOfType(typ, ...types)) return 'typ is of another token'
  const alg = findAlgorithm(header['alg'])
  if (alg === undefined || alg !== (registered ?? alg) || accepted?.includes(alg) === false)
    return 'alg is not accepted'
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > 256)) return 'kid is not a key name'
  return { alg, kid }
}
