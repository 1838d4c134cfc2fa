import { createHmac } from 'node:crypto'

/** Milliseconds for which one nonce is handed out. It is accepted for as long again. */
const windowMs = 180_000

export interface DpopNonces {
  readonly current: () => string
  readonly accepts: (nonce: unknown) => boolean
}

/** Nonces for DPoP proofs (RFC 9449 §9): a MAC over a window of time, so that none has to be stored. */
export const createDpopNonces = (secret: string | Uint8Array, clock: () => number): DpopNonces => {
  const of = (window: number): string =>
    createHmac('sha256', secret)
      .update(`dpop-nonce ${String(window)}`)
      .digest('base64url')
  let window = NaN
  let nonces: readonly string[] = []
  const fresh = (): readonly string[] => {
    const now = Math.floor(clock() / windowMs)
    // The next one is accepted too, because another process's clock may be ahead.
    if (now !== window) nonces = [of(now), of(now - 1), of(now + 1)]
    window = now
    return nonces
  }
  return { current: () => fresh()[0] ?? '', accepts: (nonce) => fresh().includes(nonce as string) }
}
