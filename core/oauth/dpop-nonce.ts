import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../clock.js'
import type { RecordStore } from '../storage/ports.js'

/** How long one nonce is handed out; it is accepted for as long again. */
const windowMs = 180_000
const id = 'dpop_nonce'

export interface Nonces {
  /** What is handed out now. */
  readonly current: string
  readonly accepted: readonly string[]
}

export interface NonceOptions {
  /** Of all replicas: what one hands out the others accept. */
  readonly secrets: RecordStore<string>
  readonly clock: Clock
}

/**
 * Nonces for DPoP proofs (RFC 9449 §8): a MAC over a window of time under a secret that all replicas share, so that none of
 * them has to be stored. Throws `Unavailable` until the secret was read once.
 */
export const createNonces = ({ secrets, clock }: NonceOptions): (() => Promise<Nonces>) => {
  let secret: string | undefined
  let window = NaN
  let nonces: Nonces = { current: '', accepted: [] }

  const readSecret = async (): Promise<string> => {
    const found = await secrets.find(id)
    if (found !== undefined) return found
    const fresh = randomBytes(32).toString('base64url')
    if (await secrets.put(id, fresh, { onlyIfAbsent: true })) return fresh
    return readSecret()
  }

  return async () => {
    secret ??= await readSecret()
    const key = secret
    const now = Math.floor(clock() / windowMs)
    if (now !== window) {
      const of = (number: number): string => createHmac('sha256', key).update(String(number)).digest('base64url')
      const current = of(now)
      // The next one too: a replica whose clock is ahead may have handed it out, and nobody else can know it.
      nonces = { current, accepted: [current, of(now - 1), of(now + 1)] }
      window = now
    }
    return nonces
  }
}
