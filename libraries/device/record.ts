import { calculateJwkThumbprint, decodeJwt } from 'jose'
import type { Attested } from './ceremony.js'
import { DeviceError } from './errors.js'
import type { DeviceKey, KeyPair } from './key.js'
import type { DeviceRecord } from './store.js'

/** Seconds. An attestation is not sent shortly before it expires, because a verifier may already see it as expired. */
const longestMargin = 30
/** Seconds over which devices that could not renew are spread, so that they do not return all at once. */
const spread = 600
/** Seconds. A smaller correction of the clock does not count as a step. */
const smallStep = 60

export const newRecord = (
  { attestation, expires_in, reissue_after, ...beside }: Attested,
  now: number,
  keys: KeyPair | undefined,
): DeviceRecord => {
  const { client_attestation: clientAttestation, workload_identity_token: workloadIdentityToken } = beside
  const goodUntil = now + expires_in - Math.min(longestMargin, expires_in / 10)
  // Devices that were enrolled together should not be renewed together.
  const renewAt = Math.min(goodUntil, now + reissue_after * (0.9 + Math.random() * 0.2))
  return {
    ...(keys && { keys }),
    attestation,
    ...(clientAttestation !== undefined && { clientAttestation }),
    ...(workloadIdentityToken !== undefined && { workloadIdentityToken }),
    keptAt: now,
    goodUntil,
    renewAt,
  }
}

/** The record after a failed renewal, with the time of the next attempt. */
export const failedRecord = (record: DeviceRecord, error: DeviceError, now: number): DeviceRecord => {
  const { errorCode, message, mustEnrol, retryAfterSeconds: soonest = 1 } = error
  const left = record.goodUntil - now
  // A refusal may be reversed while the attestation is valid, but not soon.
  const wait =
    mustEnrol && left > 0
      ? Math.max(smallStep, left * (0.4 + Math.random() * 0.2))
      : soonest + Math.random() * (left > 0 ? Math.min(spread, left) : spread)
  return { ...record, keptAt: now, renewAt: now + wait, problem: { errorCode, message } }
}

export const isGood = ({ goodUntil }: DeviceRecord, now: number): boolean => now < goodUntil

export const isDue = ({ renewAt }: DeviceRecord, now: number): boolean => now >= renewAt

/** Why there is no usable attestation, until it is time for another attempt. */
export const problemOf = ({ problem, renewAt }: DeviceRecord, now: number): DeviceError =>
  new DeviceError(problem?.errorCode ?? 'Unreachable', problem?.message ?? 'The attestation has expired.', {
    retryAfterSeconds: Math.ceil(renewAt - now),
  })

/**
 * Validates what was read from a store. After the clock stepped back, it is unknown how long the attestation is
 * valid, but not longer than when it was written, so it is renewed at once.
 */
export const checkRecord = async (read: unknown, now: number, key: DeviceKey | undefined): Promise<DeviceRecord> => {
  if (read === undefined) throw new DeviceError('NotEnrolled', 'This device is not enrolled.')
  const jkt = thumbprintIn(read)
  if (jkt === undefined || !isRecord(read) || (!key && !isKeyPair(read.keys)))
    throw new DeviceError('StoreCorrupted', 'The store has something else than the record of a device.')
  if (key && (await calculateJwkThumbprint(key.publicJwk)) !== jkt)
    throw new DeviceError('KeyNotBound', 'The attestation in the store belongs to another key.')
  if (now >= read.keptAt - smallStep) return read
  return { ...read, keptAt: now, goodUntil: now + read.goodUntil - read.keptAt, renewAt: now }
}

const isRecord = (read: unknown): read is DeviceRecord => {
  const { keptAt, goodUntil, renewAt, problem, clientAttestation, workloadIdentityToken } = read as DeviceRecord
  return (
    [keptAt, goodUntil, renewAt].every(Number.isFinite) &&
    [clientAttestation, workloadIdentityToken].every((token) => ['string', 'undefined'].includes(typeof token)) &&
    (problem === undefined || (typeof problem.errorCode === 'string' && typeof problem.message === 'string'))
  )
}

const isKeyPair = (keys: unknown): keys is KeyPair => {
  const { publicKey, privateKey } = (keys ?? {}) as Partial<KeyPair>
  return publicKey instanceof CryptoKey && privateKey instanceof CryptoKey
}

/** `cnf.jkt` of the attestation, or undefined if there is no readable one. */
const thumbprintIn = (read: unknown): string | undefined => {
  try {
    const { jkt } = decodeJwt<{ cnf: { jkt?: unknown } }>((read as DeviceRecord).attestation).cnf
    return typeof jkt === 'string' ? jkt : undefined
  } catch {
    return undefined
  }
}
