import type { JsonObject } from '../json.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyRing } from '../keys/ports.js'
import { createPrepared } from '../tokens/prepared.js'
import type { TokenProfile } from '../tokens/profiles.js'
import { createSignToken, type SignedToken } from '../tokens/sign-token.js'
import type { StatusQuestion } from './ports.js'

export interface CeremonyTokenOptions {
  readonly ring: Pick<KeyRing, 'sign'>
  readonly profile: TokenProfile
  readonly alg: JwsAlg
}

/**
 * Signs the tokens of an enrolment or renewal. Claims are prepared first, and signed once after the proof was
 * verified.
 */
export const createCeremonyTokens = <Prepared extends object>({ ring, profile, alg }: CeremonyTokenOptions) => {
  const sign = createSignToken(ring)
  const unsigned = createPrepared<Prepared, { readonly jkt: string; readonly claims: JsonObject }>()

  return {
    put: unsigned.put,
    /** Throws `Unavailable`, and `Error` for claims that were not prepared here or were signed before. */
    async sign(prepared: Prepared, step: StatusQuestion['step'], signal: AbortSignal): Promise<SignedToken> {
      const { jkt, claims } = unsigned.take(prepared)
      const by = { priority: step === 'renewal' ? 'renewal' : 'machine', clientId: jkt, signal } as const
      return sign(profile, alg, claims, by)
    },
  }
}
