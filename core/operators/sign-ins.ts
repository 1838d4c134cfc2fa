import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import type { OneTimeStore } from '../storage/ports.js'

/** A sign-in or registration that a browser has begun and that takes one answer. */
export type OperatorSignIn =
  | { readonly kind: 'passkey' }
  /** `session` is the hash of the cookie of the session in which a passkey is added. */
  | { readonly kind: 'new_passkey'; readonly name: string; readonly session: string }
  /** `browser` is the hash of the cookie that the browser keeps meanwhile. */
  | { readonly kind: 'oidc'; readonly browser: string; readonly nonce: string; readonly verifier: string }

/** The time that a person may take. */
export const signInSeconds = 600

/** Stores what was begun, and returns its one-time value: the challenge of a passkey, or the `state`. Throws `Unavailable`. */
export const beginSignIn = async (
  store: Pick<OneTimeStore<OperatorSignIn>, 'put'>,
  begun: OperatorSignIn,
): Promise<string> => {
  const value = newOpaqueToken()
  await store.put(hashOpaqueToken(value), begun, signInSeconds)
  return value
}

/** Returns what was begun with this value, once. Throws `Unavailable`. */
export const takeSignIn = async <Kind extends OperatorSignIn['kind']>(
  store: Pick<OneTimeStore<OperatorSignIn>, 'redeem'>,
  kind: Kind,
  value: string | undefined,
): Promise<Extract<OperatorSignIn, { readonly kind: Kind }> | undefined> => {
  if (!isOpaqueToken(value)) return undefined
  const redemption = await store.redeem(hashOpaqueToken(value))
  if (redemption.outcome !== 'won' || redemption.record.kind !== kind) return undefined
  return redemption.record as Extract<OperatorSignIn, { readonly kind: Kind }>
}
