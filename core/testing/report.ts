/** The rules that a grant must not break, by name. */
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
  /** The request that caused it. */
  readonly attack: string
  readonly detail: string
}

export interface Report {
  /** How many requests were made. */
  readonly requests: number
  /** Each listed once. Empty when the grant withstood all attacks. */
  readonly findings: readonly Finding[]
}
