import { findStep, type TotpForm } from './one-time-password.js'
import { seal, unseal } from './sealed-secret.js'

/** As stored, encrypted with a key of the configuration: the form stays that of the app that scanned it, whatever the options become. */
export interface StoredSecret extends TotpForm {
  readonly sealed: string
}

/** The id under which the secret of a person is sealed. */
export const personSecretId = (subject: string): string => `person:${subject}`

const ownerOf = (id: string, { algorithm, digits }: TotpForm): string => [id, algorithm, digits].join(' ')

/** The record for `id`: it opens under this id and form alone. */
export const encryptSecret = (
  id: string,
  secret: Uint8Array,
  { algorithm, digits }: TotpForm,
  key: Uint8Array,
): StoredSecret => ({ algorithm, digits, sealed: seal(secret, key, ownerOf(id, { algorithm, digits })) })

export interface SecretCheck {
  readonly key: Uint8Array
  readonly window: number
  /** Whose outage it is when a secret does not open. */
  readonly component: string
  /** What is worked on for a principal without a secret. */
  readonly decoy: { readonly id: string; readonly stored: StoredSecret }
}

/**
 * The step that a password belongs to, at `now` (seconds). Without a secret there is none, at the cost of the same work.
 * Throws `Unavailable` when the secret does not open.
 */
export const findStoredStep = (
  id: string,
  found: StoredSecret | undefined,
  written: string,
  now: number,
  { key, window, decoy, component }: SecretCheck,
): number | undefined => {
  const { id: owner, stored } = found ? { id, stored: found } : decoy
  const secret = unseal(stored.sealed, key, ownerOf(owner, stored), component)
  const step = findStep(secret, written, now, window, stored)
  return found && step
}
