import {
  acceptedAlgorithms,
  BadJwk,
  createProofKeys,
  epochSeconds,
  findTimeFault,
  isNumericDate,
  isObject,
  isSignedByAny,
  OAuthError,
  readJwtHeader,
  Unavailable,
  type Client,
  type CompactJws,
  type IssuerKeys,
  type JsonObject,
  type JwsAlg,
  type ProofKey,
  type ShownAttestations,
  type TimeRules,
} from '../../../core/api/index.js'
import type { Attester, Options } from './options.js'

/** draft-ietf-oauth-attestation-based-client-auth §4. */
const types = ['oauth-client-attestation+jwt']

export const refusal = (reason: string): OAuthError =>
  new OAuthError('invalid_client', 'Client authentication failed.', { reason: `client attestation: ${reason}` })

/** A JWT as it came. */
export interface Presented {
  readonly text: string
  readonly jws: CompactJws
}

export interface AttestationRules extends TimeRules {
  readonly issuer: string
  readonly options: Options
  readonly issuerKeys: IssuerKeys
  readonly attestations: Pick<ShownAttestations, 'verifyClientAttestation'>
}

/** What an attestation gives: the key of the instance, for a proof by this algorithm. */
export type InstanceKey = (alg: JwsAlg) => ProofKey

const isOfAttester = async (
  attester: Attester,
  { jws }: Presented,
  client: Client,
  keys: IssuerKeys,
): Promise<boolean> => {
  const accepted = acceptedAlgorithms(client)
  const algs = attester.algs.filter((alg) => accepted?.includes(alg) !== false)
  const wanted = readJwtHeader(jws.header, { types, accepted: algs })
  if (typeof wanted === 'string') throw refusal(wanted)
  const { issuer = '', jwks, jwks_uri } = attester
  const found = await keys.find({ issuer, jwks, jwks_uri }, wanted)
  return isSignedByAny(jws, found)
}

/** Keys in the header are nobody's (RFC 8725 §3.10): it is the configuration that says who vouches for a client. */
const checkAttester = async (shown: Presented, client: Client, rules: AttestationRules): Promise<void> => {
  const { iss } = shown.jws.payload
  const { attesters, own_clients: own = [] } = rules.options
  if (iss === rules.issuer && own.includes(client.client_id)) {
    if ((await rules.attestations.verifyClientAttestation(shown.text)) === undefined) throw refusal('not one of ours')
    return
  }
  const trusted = attesters.filter(
    ({ clients, issuer }) =>
      clients.includes(client.client_id) && (iss === undefined || issuer === undefined || iss === issuer),
  )
  if (trusted.length === 0) throw refusal('nobody who is trusted for this client')
  let outage: Unavailable | undefined
  for (const attester of trusted)
    try {
      if (await isOfAttester(attester, shown, client, rules.issuerKeys)) return
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      outage = error
    }
  throw outage ?? refusal('wrong signature, or no key fits')
}

const notFresh = (reason: string): OAuthError =>
  new OAuthError('use_fresh_attestation', 'The client attestation is too old.', {
    reason: `client attestation: ${reason}`,
  })

/** Of whoever signed it: an attestation that is over says so to the client, which then gets a new one. */
const checkTimes = (claims: JsonObject, rules: AttestationRules): void => {
  const fault = findTimeFault(claims, rules)
  if (fault === 'expired') throw notFresh(fault)
  if (fault !== undefined) throw refusal(fault)
  const { max_age_secs: maxAge } = rules.options
  if (maxAge === undefined) return
  const { iat } = claims
  if (!isNumericDate(iat)) throw refusal('iat is missing')
  if (iat + maxAge + rules.toleranceSeconds <= epochSeconds(rules.clock)) throw notFresh('older than max_age_secs')
}

/** §7.1. Gives the key of the instance. Throws `invalid_client`, `use_fresh_attestation`, `Unavailable`. */
export const createCheckAttestation = (rules: AttestationRules) => {
  const keyOf = createProofKeys()

  return async (shown: Presented, client: Client): Promise<InstanceKey> => {
    const { header, payload } = shown.jws
    if (header['typ'] !== types[0]) throw refusal('typ is of another token')
    await checkAttester(shown, client, rules)
    checkTimes(payload, rules)
    const { cnf } = payload
    if (!isObject(cnf) || !isObject(cnf['jwk'])) throw refusal('cnf has no jwk')
    const { jwk } = cnf
    return (alg) => {
      try {
        return keyOf(jwk, alg)
      } catch (error) {
        if (error instanceof BadJwk) throw refusal(`cnf.jwk: ${error.message}`)
        throw error
      }
    }
  }
}
