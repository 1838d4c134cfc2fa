import {
  acceptedAlgorithms,
  BadJwk,
  createCertificateChains,
  createProofKeys,
  epochSeconds,
  findTimeFault,
  isNumericDate,
  isObject,
  isSignedByAny,
  OAuthError,
  readJwtHeader,
  readX5c,
  Unavailable,
  type CertificateChains,
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

type Known = Attester & { readonly chains?: CertificateChains }
type ProofKeys = ReturnType<typeof createProofKeys>

/** The key of the certificate that the attestation brings, or why it is not trusted. */
const keyOfChain = ({ names }: Known, chains: CertificateChains, x5c: unknown, keyOf: ProofKeys, alg: JwsAlg) => {
  const sent = readX5c(x5c)
  if (sent === undefined) return 'x5c is missing or malformed'
  const trusted = chains.check(sent)
  if (!trusted.ok) return `x5c: ${trusted.reason}`
  const { dns, uri } = trusted.leaf.names
  if (names?.some((name) => dns.includes(name) || uri.includes(name)) === false) return 'x5c: another name'
  try {
    return keyOf(trusted.leaf.x509.publicKey.export({ format: 'jwk' }), alg)
  } catch (error) {
    if (error instanceof BadJwk) return `x5c: ${error.message}`
    throw error
  }
}

/** Why it is not by this attester; undefined: it is. */
const findAttesterFault = async (
  attester: Known,
  { jws }: Presented,
  client: Client,
  { issuerKeys }: AttestationRules,
  keyOf: ProofKeys,
): Promise<string | undefined> => {
  const accepted = acceptedAlgorithms(client)
  const algs = attester.algs.filter((alg) => accepted?.includes(alg) !== false)
  const wanted = readJwtHeader(jws.header, { types, accepted: algs })
  if (typeof wanted === 'string') return wanted
  const { issuer = '', jwks, jwks_uri, chains } = attester
  if (chains === undefined) {
    const keys = await issuerKeys.find({ issuer, jwks, jwks_uri }, wanted)
    return (await isSignedByAny(jws, keys)) ? undefined : 'wrong signature, or no key fits'
  }
  const key = keyOfChain(attester, chains, jws.header['x5c'], keyOf, wanted.alg)
  if (typeof key === 'string') return key
  return (await isSignedByAny(jws, [key])) ? undefined : 'wrong signature'
}

/** A key in the header is nobody's (RFC 8725 §3.10): it is the configuration that says who vouches for a client. */
const checkAttester = async (
  shown: Presented,
  client: Client,
  rules: AttestationRules,
  attesters: readonly Known[],
  keyOf: ProofKeys,
): Promise<void> => {
  const { iss } = shown.jws.payload
  const { own_clients: own = [] } = rules.options
  if (iss === rules.issuer && own.includes(client.client_id)) {
    if ((await rules.attestations.verifyClientAttestation(shown.text)) === undefined) throw refusal('not one of ours')
    return
  }
  const trusted = attesters.filter(
    ({ clients, issuer }) =>
      clients.includes(client.client_id) && (iss === undefined || issuer === undefined || iss === issuer),
  )
  let reason = 'nobody who is trusted for this client'
  let outage: Unavailable | undefined
  for (const attester of trusted)
    try {
      const fault = await findAttesterFault(attester, shown, client, rules, keyOf)
      if (fault === undefined) return
      reason = fault
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      outage = error
    }
  throw outage ?? refusal(reason)
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
  const { clock, options } = rules
  const attesters = options.attesters.map((attester) =>
    attester.roots === undefined
      ? attester
      : { ...attester, chains: createCertificateChains({ trustAnchors: attester.roots, clock }) },
  )

  return async (shown: Presented, client: Client): Promise<InstanceKey> => {
    const { header, payload } = shown.jws
    if (header['typ'] !== types[0]) throw refusal('typ is of another token')
    await checkAttester(shown, client, rules, attesters, keyOf)
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
