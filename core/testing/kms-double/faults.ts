/** What goes wrong with a call. */
export type KmsFault =
  /** An error of KMS by its name, with its message. */
  | { readonly error: string; readonly message?: string }
  /** No answer, until the double stops. */
  | { readonly hang: true }
  /** Milliseconds before the answer. */
  | { readonly latency: number }
  /** The connection is reset. */
  | { readonly reset: true }
  /** What a proxy in between says: no JSON. */
  | { readonly status: number }
  /** The signature is another key's, has one wrong bit, lacks its last byte, or is no DER. */
  | { readonly signature: 'other-key' | 'flipped-bit' | 'truncated' | 'not-der' }
  /** The reply names another key. */
  | { readonly keyId: string }

/** Which calls it hits: all, unless something narrows them. */
export interface FaultRule {
  readonly fault: KmsFault
  readonly action?: string
  readonly region?: string
  /** The ARN that was resolved from the request. */
  readonly keyArn?: string
  /** The first so many of those calls; absent: until it is lifted. */
  readonly times?: number
  /** The share of those calls, from 0 to 1, by a generator with a fixed seed; absent: each. */
  readonly rate?: number
}

export interface FaultyCall {
  readonly action: string
  readonly region: string
  readonly keyArn: string | undefined
}

/** The rules in force. The first that hits a call decides. */
export const newFaultRules = () => {
  const rules = new Map<symbol, { rule: FaultRule; left: number }>()
  let seed = 0x5167_e700
  /** mulberry32, so that a run can be repeated. */
  const random = (): number => {
    seed = (seed + 0x6d2b_79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    /** Puts a rule in force; what it returns lifts it. */
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
