import {
  epochSeconds,
  isObject,
  OAuthError,
  Unavailable,
  type Client,
  type JsonObject,
} from '../../../core/api/index.js'
import {
  createCertificateChains,
  readX5c,
  type CertificateChains,
  type ShownAttestations,
} from '../../../core/api/attestation.js'
import { BadJwk, type JwsAlg } from '../../../core/api/signer.js'
import {
  acceptedAlgorithms,
  createProofKeys,
  findCertificateKey,
  findTimeFault,
  isNumericDate,
  isOfType,
  isSignedByAny,
  readJwtHeader,
  type CompactJws,
  type IssuerKeys,
  type ProofKey,
  type TimeRules,
} from '../../../core/api/internal.js'
import type { Attester, Options } from './options.js'

/** draft-ietf-oauth-attestation-based-client-auth §4. */
const types = ['oauth-client-attestation+jwt']

export const refusal = (reason: string, isOfChain = false): OAuthError =>
  new OAuthError('invalid_client', 'Client authentication failed.', {
    reason: `client attestation: ${reason}`,
    isOfChain,
  })

/** A JWT as received. */
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

/** The result of an attestation: a function that returns the instance's key for a proof with this algorithm. */
export type InstanceKey = (alg: JwsAlg) => ProofKey

type Known = Attester & { readonly chains?: CertificateChains }
type ProofKeys = ReturnType<typeof createProofKeys>

/** A chain whose first key has signed the attestation. Its owner is not known yet. */
type ProvenChain = readonly Buffer[] | string

/** Returns the attestation's chain after verifying that its first key signed it: one signature, before all others. */
const proveChain = async ({ jws }: Presented, alg: JwsAlg, keyOf: ProofKeys): Promise<ProvenChain> => {
  const sent = readX5c(jws.header['x5c'])
  const jwk = sent?.[0] && findCertificateKey(sent[0])
  if (sent === undefined || jwk === undefined) return 'x5c is missing or malformed'
  try {
    return (await isSignedByAny(jws, [keyOf(jwk, alg)])) ? sent : 'wrong signature'
  } catch (error) {
    if (error instanceof BadJwk) return `x5c: ${error.message}`
    throw error
  }
}

interface Fault {
  readonly reason: string
  readonly isOfChain?: true
}

const findChainFault = (chains: CertificateChains, chain: ProvenChain, names: Attester['names']): Fault | undefined => {
  if (typeof chain === 'string') return { reason: chain }
  const trusted = chains.check(chain)
  if (!trusted.ok) return { reason: `x5c: ${trusted.reason}`, isOfChain: true }
  const { dns, uri } = trusted.leaf.names
  const isNamed = names?.some((name) => dns.includes(name) || uri.includes(name)) !== false
  return isNamed ? undefined : { reason: 'x5c: another name' }
}

/** Why it is not from this attester, or undefined if it is. */
const findAttesterFault = async (
  attester: Known,
  { jws }: Presented,
  client: Client,
  { issuerKeys }: AttestationRules,
  chainOf: (alg: JwsAlg) => Promise<ProvenChain>,
): Promise<Fault | undefined> => {
  const accepted = acceptedAlgorithms(client)
  const algs = attester.algs.filter((alg) => accepted?.includes(alg) !== false)
  const wanted = readJwtHeader(jws.header, { types, accepted: algs })
  if (typeof wanted === 'string') return { reason: wanted }
  const { issuer = '', jwks, jwks_uri, chains, names } = attester
  if (chains !== undefined) return findChainFault(chains, await chainOf(wanted.alg), names)
  const keys = await issuerKeys.find({ issuer, jwks, jwks_uri }, wanted)
  return (await isSignedByAny(jws, keys)) ? undefined : { reason: 'wrong signature, or no key fits' }
}

/** A key in the header proves nothing (RFC 8725 §3.10); the configuration says who may attest a client. */
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
  let refused: Fault = { reason: 'nobody who is trusted for this client' }
  let chain: Promise<ProvenChain> | undefined
  // Verified once for all attesters, because the header names one algorithm.
  const chainOf = (alg: JwsAlg) => (chain ??= proveChain(shown, alg, keyOf))
  let outage: Unavailable | undefined
  for (const attester of trusted)
    try {
      const fault = await findAttesterFault(attester, shown, client, rules, chainOf)
      if (fault === undefined) return
      refused = fault
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      outage = error
    }
  throw outage ?? refusal(refused.reason, refused.isOfChain)
}

const notFresh = (reason: string): OAuthError =>
  new OAuthError('use_fresh_attestation', 'The client attestation is too old.', {
    reason: `client attestation: ${reason}`,
  })

/** Checked whoever signed it, so that the client learns that its attestation has expired and gets a new one. */
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

/** §7.1. Returns the key of the instance. Throws `invalid_client`, `use_fresh_attestation`, `Unavailable`. */
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
    if (!isOfType(header['typ'], ...types)) throw refusal('typ is of another token')
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
