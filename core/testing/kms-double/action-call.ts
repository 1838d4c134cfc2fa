import type { DoubleKey, KeyStore } from './keys.js'

export type Body = Readonly<Record<string, unknown>>

export interface ActionCall {
  readonly keys: KeyStore
  readonly region: string
  /** The key named by `KeyId`. Undefined for actions without one. */
  readonly key: DoubleKey | undefined
  readonly body: Body
  /** The most entries of one page of a listing. */
  readonly most: number
}
