import { createHmac } from 'node:crypto'
import type { Clock } from '../clock.js'
import type { EphemeralReplayGuard, RecordStore } from '../storage/ports.js'
import { createSharedSecret } from './clients/shared-secret.js'

/** Each nonce is issued for this long, and accepted for as long again. */
const windowMs = 180_000

export interface Nonces {
  /** The nonce that is issued now. */
  readonly current: string
  readonly accepted: readonly string[]
  /** No proof with one of these nonces was made before this time, in milliseconds since the epoch. */
  readonly since: number
}

export interface NonceOptions {
  /** The store is shared by all replicas, so that each accepts the nonces of the others. */
  readonly secrets: RecordStore<string>
  readonly clock: Clock
  /**
   * The memory of used proofs. If it has lost some, nonces from before that are refused, and with them those proofs.
   */
  readonly proofs: Pick<EphemeralReplayGuard, 'since'>
}

/**
 * Makes nonces for DPoP proofs (RFC 9449 §8). Each is a MAC over a window of time under a secret that all replicas
 * share, so that no nonce has to be stored. Throws `Unavailable` until the secret has been read once.
 */
export const createNonces = ({ secrets, clock, proofs }: NonceOptions): (() => Promise<Nonces>) => {
  const secret = createSharedSecret(secrets, 'dpop_nonce')
  let window = NaN
  let nonces: Nonces = { current: '', accepted: [], since: NaN }

  return async () => {
    const key = await secret()
    const now = Math.floor(clock() / windowMs)
    const since = proofs.since?.() ?? 0
    if (now !== window || since !== nonces.since) {
      const of = (number: number): string =>
        createHmac('sha256', key)
          .update(`${String(number)} ${String(since)}`)
          .digest('base64url')
      const current = of(now)
      // The next nonce is accepted too: a replica whose clock is ahead may have issued it, and it cannot be known
      // otherwise.
      nonces = { current, accepted: [current, of(now - 1), of(now + 1)], since }
      window = now
    }
    return nonces
  }
}
