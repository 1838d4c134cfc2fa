import { hash } from 'node:crypto'
import { isOfType } from '../wire/media-type.js'
import { workloadIdentityType } from '../wire/names.js'
import { isTime } from '../wire/request-claims.js'
import { importIssuerKey, type IssuerKey } from './issuer-key.js'
import { isObject, readCompact, type JsonObject } from './jws.js'
import type { KeySets } from './key-sets.js'
import { membersOf } from './public-jwk.js'
import { WorkloadRefused } from './workload-refusal.js'

/** The workload that sent a request. */
export interface Workload {
  /** Its identifier, such as `spiffe://bank.example/payments/api-1`. */
  readonly workload: string
  readonly trustDomain: string
  /** Thumbprint of its key (RFC 7638). */
  readonly jkt: string
  /** All claims of the Workload Identity Token. */
  readonly claims: JsonObject
}

export interface ReadWorkload extends Workload {
  readonly alg: string
  readonly key: IssuerKey
}

/** SPIFFE ID §2. Only this spelling is accepted, so that no other has to be interpreted. */
const identifier = /^(?:spiffe|wimse):\/\/([a-z0-9._-]{1,255})(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)+$/
const longestIdentifier = 2048

/**
 * Reads a Workload Identity Token (draft-ietf-wimse-workload-creds-02 §5.1.3). The key is that of the trust domain in
 * `sub`, whatever else the token names. `now` is in seconds since the epoch.
 */
export const readWorkloadIdentity = async (
  text: string,
  keySets: KeySets,
  { now, skew }: { readonly now: number; readonly skew: number },
): Promise<ReadWorkload> => {
  const { header, payload, input, signature } = readCompact(text)
  const { alg, kid, typ } = header
  const { sub, exp, nbf } = payload
  if (!isOfType(typ, workloadIdentityType)) throw new WorkloadRefused('wrong_type')
  if (typeof sub !== 'string' || sub.length > longestIdentifier) throw new WorkloadRefused('malformed')
  const trustDomain = identifier.exec(sub)?.[1]
  if (trustDomain === undefined) throw new WorkloadRefused('malformed')
  if (!keySets.trusts(trustDomain)) throw new WorkloadRefused('untrusted_issuer')
  if (typeof kid !== 'string') throw new WorkloadRefused('unknown_kid')
  const authority = await keySets.find(trustDomain, kid)
  if (!authority.algs.includes(alg as string)) throw new WorkloadRefused('bad_alg')
  if (!authority.verifies(alg, input, signature)) throw new WorkloadRefused('bad_token')
  // A token with an audience is of another kind, whatever its type says.
  if ('aud' in payload || !isTime(exp) || (nbf !== undefined && !isTime(nbf))) throw new WorkloadRefused('malformed')
  if (now > exp + skew || now < (nbf ?? 0) - skew) throw new WorkloadRefused('token_expired')
  return { workload: sub, trustDomain, claims: payload, ...readKey(payload['cnf']) }
}

const readKey = (cnf: unknown): Pick<ReadWorkload, 'jkt' | 'alg' | 'key'> => {
  const jwk = isObject(cnf) && isObject(cnf['jwk']) ? cnf['jwk'] : {}
  const { alg } = jwk
  const members = membersOf(jwk)
  const key = members && importIssuerKey(members)
  if (!key || typeof alg !== 'string' || !key.algs.includes(alg)) throw new WorkloadRefused('bad_jwk')
  return { alg, key, jkt: hash('sha256', JSON.stringify(members), 'base64url') }
}
