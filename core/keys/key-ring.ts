import type { Clock } from '../clock.js'
import { Unavailable } from '../unavailable.js'
import { signingName, viewAt, type RingView } from './key-states.js'
import { openKeys, type OpenKeysOptions } from './open-keys.js'
import type { JwsAlg, KeyPurpose, KeyRing, SignatureTrace } from './ports.js'
import { proveKey, type KeyProof } from './prove-key.js'

export type { KeyConfiguration } from './open-keys.js'
export { KeysRefused } from './open-keys.js'
export type { KeyProof } from './prove-key.js'

export interface KeyRingOptions extends OpenKeysOptions {
  readonly clock: Clock
  /** `max-age` of `/jwks.json`, seconds. */
  readonly cacheSeconds: number
}

/** A ring that can prove its keys. */
export interface ProvableKeyRing extends KeyRing {
  /**
   * Signs a probe with every key that signs now or next and verifies it with the key that is published. One whose
   * signature does not verify signs no more until a later proof of it succeeds. Never throws.
   */
  prove(signal: AbortSignal): Promise<readonly KeyProof[]>
}

/** Opens every configured key that is not gone. Throws `KeysRefused` with all problems at once. */
export const openKeyRing = async (options: KeyRingOptions): Promise<ProvableKeyRing> => {
  const { clock, cacheSeconds } = options
  const keys = await openKeys(options)
  const distrusted = new Set<string>()
  let view: RingView = viewAt(keys, clock(), distrusted)

  /** The clock alone changes states, so replicas agree without talking; it may also be set back. */
  const current = (): RingView => {
    const now = clock()
    if (now < view.from || now >= view.until) view = viewAt(keys, now, distrusted)
    return view
  }

  const signingKey: KeyRing['signingKey'] = (purpose, alg) => {
    const key = current().signing.get(signingName(purpose, alg))
    if (key === undefined) throw new Unavailable('keys', 'no', `No active key signs ${purpose} with ${alg}.`)
    return key
  }

  return {
    signingKey,
    async sign({ purpose, alg, input: inputFor, signal }) {
      const { kid, signerName, signer } = signingKey(purpose, alg)
      const input = inputFor({ kid, alg })
      const trace: SignatureTrace = {}
      const signature = await signer.sign(Buffer.from(input, 'ascii'), signal, trace).catch((cause: unknown) => {
        if (cause instanceof Unavailable) throw cause
        // Whatever a backend fails with is an outage: what was asked for was sound.
        throw new Unavailable(`signers.${signerName}`, 'no', 'the signer failed', { cause })
      })
      return { ...trace, kid, alg, signer: signerName, input, signature }
    },
    publishedKey: (kid) => current().published.get(kid),
    keySet() {
      const { body, etag } = current()
      return { body, etag, maxAgeSeconds: cacheSeconds }
    },
    algorithms: (purpose) => advertised(current(), purpose),
    states: () =>
      [...current().states].map(([{ kid, alg, signer, purposes }, state]) => ({ kid, alg, signer, state, purposes })),
    async prove(signal) {
      const signs = [...current().states].filter(([, state]) => state === 'active' || state === 'next')
      const proofs = await Promise.all(signs.map(([key]) => proveKey(key, signal)))
      for (const { kid, outcome } of proofs) {
        if (outcome === 'failed') distrusted.add(kid)
        if (outcome === 'proved') distrusted.delete(kid)
      }
      view = viewAt(keys, clock(), distrusted)
      return proofs
    },
  }
}

const advertised = ({ states }: RingView, purpose: KeyPurpose): readonly JwsAlg[] => {
  const found = new Set<JwsAlg>()
  for (const [{ alg, purposes }, state] of states)
    if ((state === 'active' || state === 'next') && purposes.includes(purpose)) found.add(alg)
  return [...found]
}
