import { createHmac } from 'node:crypto'
import type { Clock } from '../clock.js'
import type { EphemeralReplayGuard, RecordStore } from '../storage/ports.js'
import { createSharedSecret } from './clients/shared-secret.js'

/** How long one nonce is handed out; it is accepted for as long again. */
const windowMs = 180_000

export interface Nonces {
  /** What is handed out now. */
  readonly current: string
  readonly accepted: readonly string[]
  /** No proof with one of these nonces was made earlier, in milliseconds since the epoch. */
  readonly since: number
}

export interface NonceOptions {
  /** Shared by all replicas, so that each accepts the nonces of the others. */
  readonly secrets: RecordStore<string>
  readonly clock: Clock
  /** Remembers proofs. When it has forgotten some, no nonce from before is accepted, and so none of those proofs. */
  readonly proofs: Pick<EphemeralReplayGuard, 'since'>
}

/**
 * Nonces for DPoP proofs (RFC 9449 §8): a MAC over a window of time under a secret that all replicas share, so that none of
 * them has to be stored. Throws `Unavailable` until the secret was read once.
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
      // The next one too: a replica whose clock is ahead may have handed it out, and nobody else can know it.
      nonces = { current, accepted: [current, of(now - 1), of(now + 1)], since }
      window = now
    }
    return nonces
  }
}
