import { isoTime } from '../../clock.js'
import type { Config } from '../../../config/schema.js'
import type { KeyReport } from '../key-ring.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { KeyPurpose } from '../ports.js'

/** A kind of token that some key must sign. */
export interface SigningNeed {
  readonly purpose: KeyPurpose
  readonly alg: JwsAlg
}

export const fits = (key: Pick<KeyReport, 'alg' | 'purposes'>, { purpose, alg }: SigningNeed): boolean =>
  key.alg === alg && key.purposes.includes(purpose)

/**
 * What the deployment itself is configured to sign. Requests of single clients in their metadata are left out,
 * because they must not stop others from being served.
 */
export const deploymentNeeds = (config: Config): readonly SigningNeed[] => [
  // Without scopes there are no grants.
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
  /** When the first waiting key will sign. Infinity if none is waiting. */
  readonly until: number
}

/** The needs that no key is active for, regardless of the health of the keys. Pure. */
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
