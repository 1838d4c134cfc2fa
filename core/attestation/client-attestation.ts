import { epochSeconds, type Clock } from '../clock.js'
import type { JsonObject } from '../json.js'
import { maxTokenLength } from '../jose/compact-jws.js'
import type { JwsAlg, PublicJwk } from '../jose/jwk.js'
import type { KeyRing } from '../keys/ports.js'
import type { TokenProfile } from '../tokens/profiles.js'
import { verifyOwnToken, type OwnTokenVerification } from '../tokens/verify-own-token.js'
import { createCeremonyTokens } from './ceremony-tokens.js'
import type { Principal, PrincipalType } from './ports.js'

/** `typ` of a client's attestation (draft-ietf-oauth-attestation-based-client-auth §4). */
export const clientAttestationType = 'oauth-client-attestation+jwt'

const ownProfile = { typ: clientAttestationType, purpose: 'attestation', maxLength: maxTokenLength } as const

/** Which client an enrolled principal is an instance of. Absent members match every principal. */
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

/** A handle: the issuer that prepared the attestation keeps its claims, and signs them once. */
export interface PreparedClientAttestation {
  readonly clientId: string
}

const fits = ({ principal_type: type, subjects }: ClientAttestationRule, principal: Principal): boolean =>
  (type === undefined || type === principal.principalType) &&
  (subjects === undefined || subjects.includes(principal.subject))

/**
 * Attests that a principal's key belongs to an instance of a client. The attestation does not name the principal:
 * authorization servers only learn the client and the key.
 */
export const createClientAttestations = (options: ClientAttestationOptions) => {
  const { issuer, ring, clock, alg, rules, certificatesOf } = options
  const profile = { ...ownProfile, certificatesOf }
  const made = createCeremonyTokens<PreparedClientAttestation>({ ring, profile, alg })

  return {
    /**
     * Uses the first rule that matches, and returns undefined if none does. `expiresAt` is in seconds since the
     * epoch.
     */
    prepare(
      { principal, jwk, jkt }: { readonly principal: Principal; readonly jwk: PublicJwk; readonly jkt: string },
      expiresAt: number,
    ): PreparedClientAttestation | undefined {
      const rule = rules.find((one) => fits(one, principal))
      if (rule === undefined) return undefined
      const clientId = rule.client_id
      // There is no `jti`, because it would be one more identifier of the device.
      const claims = { iss: issuer, sub: clientId, iat: epochSeconds(clock), exp: expiresAt, cnf: { jwk: { ...jwk } } }
      return made.put({ clientId }, { jkt, claims })
    },

    sign: made.sign,
  }
}

export type ClientAttestations = ReturnType<typeof createClientAttestations>

/**
 * Reads client attestations that this issuer signed. Expired ones are read too, so that the caller can tell the
 * client.
 */
export const createClientAttestationReader =
  (verification: OwnTokenVerification) =>
  async (token: string): Promise<JsonObject | undefined> =>
    (await verifyOwnToken(token, { ...verification, ...ownProfile, expired: 'accepted' }))?.claims
