import { createHash } from 'node:crypto'
import type { JwsAlg, KeyPurpose, KeyState, PublishedKey, SigningKey } from './ports.js'

/** Milliseconds since the epoch. */
export interface Lifetime {
  readonly notBefore: number
  readonly notAfter: number
  /** When the last token that the key signed has expired everywhere. */
  readonly goneAt: number
}

export interface RingKey extends Lifetime {
  readonly kid: string
  readonly alg: JwsAlg
  readonly signer: string
  readonly purposes: readonly KeyPurpose[]
  /** Absent when the key was gone already as the ring was opened. */
  readonly opened?: { readonly signing: SigningKey; readonly published: PublishedKey }
}

/** Everything that the ring answers between two changes of a state. */
export interface RingView {
  /** The states hold for `from <= now < until`. */
  readonly from: number
  readonly until: number
  readonly states: ReadonlyMap<RingKey, KeyState>
  /** By `purpose alg`. */
  readonly signing: ReadonlyMap<string, SigningKey>
  readonly published: ReadonlyMap<string, PublishedKey>
  readonly body: Buffer
  readonly etag: string
}

/** next → active → retired → gone, by the clock alone. */
export const stateAt = ({ notBefore, notAfter, goneAt }: Lifetime, now: number): KeyState => {
  if (now >= goneAt) return 'gone'
  if (now >= notAfter) return 'retired'
  return now >= notBefore ? 'active' : 'next'
}

export const signingName = (purpose: KeyPurpose, alg: JwsAlg): string => `${purpose} ${alg}`

/** Looks at all keys at `now`. Keys in `distrusted` sign nothing, but what they signed before is still verified. */
export const viewAt = (keys: readonly RingKey[], now: number, distrusted: ReadonlySet<string>): RingView => {
  const states = new Map(keys.map((key) => [key, stateAt(key, now)] as const))
  const changes = keys.flatMap(({ notBefore, notAfter, goneAt }) => [notBefore, notAfter, goneAt])
  const signing = new Map<string, SigningKey>()
  const published = new Map<string, PublishedKey>()
  for (const [{ kid, alg, purposes, opened }, state] of states) {
    if (opened === undefined || state === 'gone') continue
    published.set(kid, opened.published)
    if (state !== 'active' || distrusted.has(kid)) continue
    for (const name of purposes.map((purpose) => signingName(purpose, alg)))
      if (!signing.has(name)) signing.set(name, opened.signing)
  }
  const set = [...published.values()].map(({ jwk, kid, alg }) => ({ ...jwk, kid, alg, use: 'sig' }))
  const body = Buffer.from(JSON.stringify({ keys: set }))
  return {
    from: Math.max(-Infinity, ...changes.filter((time) => time <= now)),
    until: Math.min(Infinity, ...changes.filter((time) => time > now)),
    states,
    signing,
    published,
    body,
    etag: `"${createHash('sha256').update(body).digest('base64url')}"`,
  }
}
