import { generateKeyPairSync, sign as nodeSign, type KeyObject } from 'node:crypto'
import { keyPurposes } from '../../../config/keys.js'
import { algorithms, keyInput } from '../../../core/jose/algorithms.js'
import { openKeyRing, type KeyConfiguration, type KeyRingOptions } from '../../../core/keys/key-ring.js'
import type { JwsAlg, PublicJwk } from '../../../core/jose/jwk.js'
import { KeyRefused, type Signer, type SignerProvider } from '../../../core/keys/ports.js'
import { Unavailable } from '../../../core/unavailable.js'

export const never = new AbortController().signal
export const start = Date.parse('2026-11-20T00:00:00Z')
export const hour = 3_600_000

export const ec = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
export const ed = (): KeyObject => generateKeyPairSync('ed25519').privateKey

/** A backend in memory that misbehaves on request. */
export class MemoryProvider implements SignerProvider {
  readonly keys = new Map<string, KeyObject>()
  readonly opened: string[] = []
  /** Signs with another key than the published one. */
  readonly wrong = new Set<string>()
  readonly down = new Set<string>()
  readonly published = new Map<string, PublicJwk>()

  open(ref: string, alg: JwsAlg): Promise<Signer> {
    this.opened.push(ref)
    const key = this.keys.get(ref)
    if (key === undefined) return Promise.reject(new KeyRefused(`${ref} does not exist`))
    const publicJwk = this.published.get(ref) ?? publicHalf(key)
    return Promise.resolve({
      alg,
      publicJwk,
      sign: (message) => {
        if (this.down.has(ref)) return Promise.reject(new Unavailable('signers.memory', 'no', 'down'))
        const signing = this.wrong.has(ref) ? other(key) : key
        return Promise.resolve(nodeSign(algorithms[alg].digest, message, keyInput(alg, signing)))
      },
    })
  }
  ping(): Promise<void> {
    return Promise.resolve()
  }
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }
}

export const publicHalf = (key: KeyObject): PublicJwk => {
  const { kty, crv, x, y } = key.export({ format: 'jwk' })
  return { kty, crv, x, ...(y !== undefined && { y }) } as PublicJwk
}
const other = (key: KeyObject): KeyObject => (key.asymmetricKeyType === 'ec' ? ec() : ed())

export const backend = (...refs: readonly (readonly [string, KeyObject])[]): MemoryProvider => {
  const provider = new MemoryProvider()
  for (const [ref, key] of refs) provider.keys.set(ref, key)
  return provider
}

export interface Time {
  now: number
}

export const open = (
  keys: readonly KeyConfiguration[],
  provider: MemoryProvider,
  time: Time = { now: start },
  options: Partial<KeyRingOptions> = {},
) =>
  openKeyRing({
    keys,
    providers: new Map([['memory', provider]]),
    clock: () => time.now,
    retentionSeconds: () => 610,
    cacheSeconds: 3600,
    signal: never,
    ...options,
  })

export const key = (kid: string, more: Partial<KeyConfiguration> = {}): KeyConfiguration => ({
  kid,
  alg: 'ES256',
  signer: 'memory',
  ref: kid,
  purposes: keyPurposes,
  ...more,
})
