/** What a grant must not do, by the word for it. */
export type Rule =
  | 'refuses'
  | 'unreachable'
  | 'scope'
  | 'audience'
  | 'client'
  | 'claims'
  | 'hangs'
  | 'throws'
  | 'junk'
  | 'state'
  | 'outage'
  | 'echo'

export interface Finding {
  readonly rule: Rule
  /** What was asked when it happened. */
  readonly attack: string
  readonly detail: string
}

export interface Report {
  /** How many requests were made. */
  readonly requests: number
  /** Each once; empty when the grant withstood everything. */
  readonly findings: readonly Finding[]
}
