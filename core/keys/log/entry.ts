import { keyPurposes } from '../../../config/keys.js'
import { isObject } from '../../json.js'
import { findAlgorithm } from '../../jose/algorithms.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { KeyPurpose } from '../ports.js'

/** The steps of a key's life, in order. `withdrawn` means that its publication ended early. */
export const keyLogSteps = ['published', 'signing', 'retired', 'gone', 'withdrawn', 'destroyed'] as const

export type KeyLogStep = (typeof keyLogSteps)[number]

/** One entry of the key log. */
export interface KeyLogEntry {
  readonly kid: string
  /** RFC 7638, of the public key. */
  readonly thumbprint: string
  readonly alg: JwsAlg
  readonly purposes: readonly KeyPurpose[]
  /** The module of its signer, such as `signers/pkcs11`. */
  readonly signer: string
  readonly step: KeyLogStep
  /** ISO 8601, in UTC. */
  readonly time: string
}

/** The entry as it is logged: canonical JSON (RFC 8785), which is JSON without blanks and with sorted names. */
export const encodeEntry = ({ kid, thumbprint, alg, purposes, signer, step, time }: KeyLogEntry): string =>
  JSON.stringify({ alg, kid, purposes, signer, step, thumbprint, time })

const isPurpose = (value: unknown): value is KeyPurpose => keyPurposes.some((purpose) => purpose === value)
const isStep = (value: unknown): value is KeyLogStep => keyLogSteps.some((step) => step === value)
const isTime = (value: string): boolean => /^\d{4}-\d\d-\d\dT[\d:.]{8,12}Z$/.test(value) && !isNaN(Date.parse(value))

/** Tells whether JSON is written as RFC 8785 has it, where it has no numbers and no objects in its members. */
const isCanonical = (value: Readonly<Record<string, unknown>>, text: string): boolean => {
  const names = Object.keys(value)
  return names.every((name, place) => place === 0 || (names[place - 1] ?? '') < name) && JSON.stringify(value) === text
}

/**
 * Reads an entry from anywhere. Undefined unless it is canonical and complete. Later versions may write members of text
 * beside those of this one.
 */
export const decodeEntry = (text: string): KeyLogEntry | undefined => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { kid, thumbprint, purposes, signer, step, time } = value
  const alg = findAlgorithm(value['alg'])
  if (typeof kid !== 'string' || typeof thumbprint !== 'string' || typeof signer !== 'string') return undefined
  if (alg === undefined || !Array.isArray(purposes) || !purposes.every(isPurpose)) return undefined
  if (!isStep(step) || typeof time !== 'string' || !isTime(time)) return undefined
  const isText = Object.entries(value).every(([name, member]) => name === 'purposes' || typeof member === 'string')
  const isOneAlg = alg === value['alg']
  return isText && isOneAlg && isCanonical(value, text)
    ? { kid, thumbprint, alg, purposes, signer, step, time }
    : undefined
}
