import { isoTime } from '../../clock.js'
import type { Config } from '../../../config/schema.js'
import type { KeyReport } from '../key-ring.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { KeyPurpose } from '../ports.js'

/** A kind of token that some key has to sign. */
export interface SigningNeed {
  readonly purpose: KeyPurpose
  readonly alg: JwsAlg
}

export const fits = (key: Pick<KeyReport, 'alg' | 'purposes'>, { purpose, alg }: SigningNeed): boolean =>
  key.alg === alg && key.purposes.includes(purpose)

/**
 * What the deployment itself is configured to sign. What a single client asked for in its metadata is not in it: that
 * must keep nobody else from being served.
 */
export const deploymentNeeds = (config: Config): readonly SigningNeed[] => [
  // Without a scope there is no grant.
  ...(config.scopes_supported.length === 0
    ? []
    : [{ purpose: 'access_token', alg: config.access_token_signing_alg } as const]),
  ...(config.scopes_supported.includes('openid')
    ? [{ purpose: 'id_token', alg: config.id_token_signing_alg } as const]
    : []),
  ...(config.attestation === undefined
    ? []
    : [{ purpose: 'attestation', alg: config.attestation.signing_alg } as const]),
  ...(config.attestation?.status_list === undefined
    ? []
    : [{ purpose: 'status_list', alg: config.attestation.signing_alg } as const]),
]

export interface SigningGap extends SigningNeed {
  /** When the first of its keys will sign; Infinity: none is waiting. */
  readonly until: number
}

/** Which of these needs no key is active for, whatever may be wrong with those that are. Pure. */
export const findGaps = (
  needs: readonly SigningNeed[],
  keys: readonly Pick<KeyReport, 'alg' | 'purposes' | 'state' | 'notBefore'>[],
): readonly SigningGap[] =>
  needs.flatMap((need) => {
    const fitting = keys.filter((key) => fits(key, need))
    if (fitting.some(({ state }) => state === 'active')) return []
    const waiting = fitting.filter(({ state }) => state === 'next')
    return [{ ...need, until: Math.min(...waiting.map(({ notBefore }) => notBefore)) }]
  })

export const describeGap = ({ purpose, alg, until }: SigningGap): string =>
  `no key signs ${purpose} with ${alg}${until === Infinity ? '' : ` until ${isoTime(until)}`}`
