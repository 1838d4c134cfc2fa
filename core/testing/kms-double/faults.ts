/** What fails in a call. */
export type KmsFault =
  /** An error of KMS by its name, with its message. */
  | { readonly error: string; readonly message?: string }
  /** No answer until the double stops. */
  | { readonly hang: true }
  /** Milliseconds before the answer. */
  | { readonly latency: number }
  /** The connection is reset. */
  | { readonly reset: true }
  /** It does what was asked, and then resets the connection or never answers. */
  | { readonly lost: 'reset' | 'hang' }
  /** The answer of a proxy in between, not JSON. */
  | { readonly status: number }
  /** The signature is from another key, has one wrong bit, lacks its last byte, or is not DER. */
  | { readonly signature: 'other-key' | 'flipped-bit' | 'truncated' | 'not-der' }
  /** The reply names another key. */
  | { readonly keyId: string }

/** Which calls it affects: all, unless restricted. */
export interface FaultRule {
  readonly fault: KmsFault
  readonly action?: string
  readonly region?: string
  /** The ARN that was resolved from the request. */
  readonly keyArn?: string
  /** Affects the first so many of those calls. If absent, until removed. */
  readonly times?: number
  /** Affects this share of those calls, from 0 to 1, by a generator with a fixed seed. If absent, every one. */
  readonly rate?: number
}

export interface FaultyCall {
  readonly action: string
  readonly region: string
  readonly keyArn: string | undefined
}

/** The active rules. The first that matches a call decides. */
export const newFaultRules = () => {
  const rules = new Map<symbol, { rule: FaultRule; left: number }>()
  let seed = 0x5167_e700
  /** mulberry32, so that a run is reproducible. */
  const random = (): number => {
    seed = (seed + 0x6d2b_79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    /** Activates a rule, and returns a function that removes it. */
    add(rule: FaultRule): () => void {
      const id = Symbol('rule')
      rules.set(id, { rule, left: rule.times ?? Infinity })
      return () => void rules.delete(id)
    },
    clear: () => rules.clear(),
    find({ action, region, keyArn }: FaultyCall): KmsFault | undefined {
      for (const entry of rules.values()) {
        const { rule } = entry
        if (entry.left === 0 || (rule.action ?? action) !== action || (rule.region ?? region) !== region) continue
        if ((rule.keyArn ?? keyArn) !== keyArn || (rule.rate !== undefined && random() >= rule.rate)) continue
        entry.left--
        return rule.fault
      }
      return undefined
    },
  }
}
