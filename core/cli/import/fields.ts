import type { JsonObject, JsonValue } from '../../json.js'
import { fromBase32, totpAlgorithms, type TotpAlgorithm } from '../../totp/one-time-password.js'
import type { ImportedAccount } from '../../administration/import/imported-account.js'

/** An entry that is no account, with a sentence for the operator. */
export class EntryFault extends Error {
  override readonly name = 'EntryFault'
}

export const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

export const objectOf = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}

export const listOf = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]) : []

/** Claims without those that the entry does not have. */
export const claimsOf = (all: Readonly<Record<string, JsonValue | undefined>>): JsonObject =>
  Object.fromEntries(
    Object.entries(all).filter(
      ([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
    ),
  )

const isAlgorithm = (name: string): name is TotpAlgorithm => Object.hasOwn(totpAlgorithms, name)

/** Reads the secret of an authenticator app with its form. Throws `EntryFault` for a form that sign-ins do not have. */
export const totpOf = (
  secret: Uint8Array | undefined,
  { algorithm = 'SHA1', digits = 6, period = 30 }: { algorithm?: string; digits?: number; period?: number },
): ImportedAccount['totp'] => {
  if (secret === undefined || secret.length < 10)
    throw new EntryFault('The secret of the authenticator app is not valid.')
  if (!isAlgorithm(algorithm) || (digits !== 6 && digits !== 8) || period !== 30)
    throw new EntryFault('The authenticator app has a form that sign-ins do not have: 6 or 8 digits, 30 seconds.')
  return { secret, algorithm, digits }
}

/** Reads a secret in base32 (RFC 4648 §6), as otpauth URIs have it. */
export const base32Totp = (text: string | undefined): ImportedAccount['totp'] =>
  text === undefined ? undefined : totpOf(fromBase32(text), {})
