import { createHash } from 'node:crypto'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyPurpose, KeyState, PublishedKey } from './ports.js'
import type { Lifetime, RingKey } from './ring-key.js'

/** All answers of the ring between two changes of state. */
export interface RingView {
  /** The states hold for `from <= now < until`. */
  readonly from: number
  readonly until: number
  readonly states: ReadonlyMap<RingKey, KeyState>
  /** By `purpose alg`, in order of preference. All of them are open. */
  readonly signing: ReadonlyMap<string, readonly RingKey[]>
  readonly published: ReadonlyMap<string, PublishedKey>
  /** The algorithms of active and next keys, by purpose. */
  readonly advertised: ReadonlyMap<KeyPurpose, readonly JwsAlg[]>
  readonly body: Buffer
  readonly etag: string
}

/** The lifetime of a key whose tokens are accepted for `retentionSeconds` after signing. */
export const lifetimeFrom = (
  { not_before, not_after }: { readonly not_before?: number | undefined; readonly not_after?: number | undefined },
  retentionSeconds: number,
): Lifetime => {
  const notAfter = not_after ?? Infinity
  return { notBefore: not_before ?? -Infinity, notAfter, goneAt: notAfter + retentionSeconds * 1000 }
}

/** The sequence is next → active → retired → gone, driven by the clock alone. */
export const stateAt = ({ notBefore, notAfter, goneAt }: Lifetime, now: number): KeyState => {
  if (now >= goneAt) return 'gone'
  if (now >= notAfter) return 'retired'
  return now >= notBefore ? 'active' : 'next'
}

export const signingName = (purpose: KeyPurpose, alg: JwsAlg): string => `${purpose} ${alg}`

const advertisedIn = (states: RingView['states']): RingView['advertised'] => {
  const found = new Map<KeyPurpose, JwsAlg[]>()
  for (const [{ alg, purposes }, state] of states) {
    if (state !== 'active' && state !== 'next') continue
    for (const purpose of purposes) {
      const algs = found.get(purpose) ?? []
      if (!algs.includes(alg)) found.set(purpose, [...algs, alg])
    }
  }
  return found
}

/**
 * The view of all keys at `now`. A key that is not trusted signs nothing, but its earlier signatures are still
 * verified.
 */
export const viewAt = (keys: readonly RingKey[], now: number): RingView => {
  const states = new Map(keys.map((key) => [key, stateAt(key, now)] as const))
  const changes = keys.flatMap(({ notBefore, notAfter, goneAt }) => [notBefore, notAfter, goneAt])
  const signing = new Map<string, RingKey[]>()
  const published = new Map<string, PublishedKey>()
  for (const [key, state] of states) {
    const { kid, alg, purposes, opened, known, trust, isWithheld } = key
    const half = opened?.published ?? known
    if (half === undefined || state === 'gone') continue
    if (!isWithheld) published.set(kid, half)
    if (opened === undefined || state !== 'active' || trust !== 'proved') continue
    const signed = isWithheld ? purposes.filter((purpose) => purpose === 'audit') : purposes
    for (const name of signed.map((purpose) => signingName(purpose, alg)))
      signing.set(name, [...(signing.get(name) ?? []), key])
  }
  const set = [...published.values()].map(({ jwk, kid, alg }) => ({ ...jwk, kid, alg, use: 'sig' }))
  const body = Buffer.from(JSON.stringify({ keys: set }))
  return {
    from: Math.max(-Infinity, ...changes.filter((time) => time <= now)),
    until: Math.min(Infinity, ...changes.filter((time) => time > now)),
    states,
    signing,
    published,
    advertised: advertisedIn(states),
    body,
    etag: `"${createHash('sha256').update(body).digest('base64url')}"`,
  }
}
