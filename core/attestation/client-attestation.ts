import { epochSeconds, type Clock } from '../clock.js'
import type { JsonObject } from '../json.js'
import { maxTokenLength } from '../jose/compact-jws.js'
import type { JwsAlg, PublicJwk } from '../jose/jwk.js'
import type { KeyRing } from '../keys/ports.js'
import type { TokenProfile } from '../tokens/profiles.js'
import { verifyOwnToken, type OwnTokenVerification } from '../tokens/verify-own-token.js'
import { createCeremonyTokens } from './ceremony-tokens.js'
import type { Principal, PrincipalType } from './ports.js'

/** `typ` of the attestation of a client (draft-ietf-oauth-attestation-based-client-auth §4). */
export const clientAttestationType = 'oauth-client-attestation+jwt'

const ownProfile = { typ: clientAttestationType, purpose: 'attestation', maxLength: maxTokenLength } as const

/** Of which client an enrolled principal is an instance. What is absent fits everybody. */
export interface ClientAttestationRule {
  readonly client_id: string
  readonly principal_type?: PrincipalType | undefined
  readonly subjects?: readonly string[] | undefined
}

export interface ClientAttestationOptions {
  readonly issuer: string
  readonly ring: Pick<KeyRing, 'sign'>
  readonly clock: Clock
  readonly alg: JwsAlg
  readonly rules: readonly ClientAttestationRule[]
  readonly certificatesOf: TokenProfile['certificatesOf']
}

/** The issuer that prepared it keeps its claims, and signs them once. */
export interface PreparedClientAttestation {
  readonly clientId: string
}

const fits = ({ principal_type: type, subjects }: ClientAttestationRule, principal: Principal): boolean =>
  (type === undefined || type === principal.principalType) &&
  (subjects === undefined || subjects.includes(principal.subject))

/**
 * Vouches for the key of a principal as that of an instance of a client. Nothing in it names the principal: authorization
 * servers learn the client and the key.
 */
export const createClientAttestations = (options: ClientAttestationOptions) => {
  const { issuer, ring, clock, alg, rules, certificatesOf } = options
  const profile = { ...ownProfile, certificatesOf }
  const made = createCeremonyTokens<PreparedClientAttestation>({ ring, profile, alg })

  return {
    /** By the first rule that fits; undefined where none does. `expiresAt`: seconds since the epoch. */
    prepare(
      { principal, jwk, jkt }: { readonly principal: Principal; readonly jwk: PublicJwk; readonly jkt: string },
      expiresAt: number,
    ): PreparedClientAttestation | undefined {
      const rule = rules.find((one) => fits(one, principal))
      if (rule === undefined) return undefined
      const clientId = rule.client_id
      // Without an id: it would be one more name for the device.
      const claims = { iss: issuer, sub: clientId, iat: epochSeconds(clock), exp: expiresAt, cnf: { jwk: { ...jwk } } }
      return made.put({ clientId }, { jkt, claims })
    },

    sign: made.sign,
  }
}

export type ClientAttestations = ReturnType<typeof createClientAttestations>

/** Reads attestations of clients that this issuer signed. One that has expired is read too: its reader says so to the client. */
export const createClientAttestationReader =
  (verification: OwnTokenVerification) =>
  async (token: string): Promise<JsonObject | undefined> =>
    (await verifyOwnToken(token, { ...verification, ...ownProfile, expired: 'accepted' }))?.claims
