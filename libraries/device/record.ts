import { calculateJwkThumbprint, decodeJwt } from 'jose'
import type { Attested } from './ceremony.js'
import { DeviceError } from './errors.js'
import type { DeviceKey, KeyPair } from './key.js'
import type { DeviceRecord } from './store.js'

/** Seconds. An attestation is not sent in the last of its time, when a verifier may see it as expired. */
const longestMargin = 30
/** Over which devices spread that could not renew, so that they do not all come back at once. */
const spread = 600
/** A clock that is corrected by less has not stepped. */
const smallStep = 60

export const newRecord = (
  { attestation, expires_in, reissue_after, ...beside }: Attested,
  now: number,
  keys: KeyPair | undefined,
): DeviceRecord => {
  const { client_attestation: clientAttestation, workload_identity_token: workloadIdentityToken } = beside
  const goodUntil = now + expires_in - Math.min(longestMargin, expires_in / 10)
  // Devices that were enrolled together are not renewed together.
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

/** The record of a renewal that failed: when it is worth another attempt. */
export const failedRecord = (record: DeviceRecord, error: DeviceError, now: number): DeviceRecord => {
  const { errorCode, message, mustEnrol, retryAfterSeconds: soonest = 1 } = error
  const left = record.goodUntil - now
  // A refusal may be taken back while the attestation is valid, but not soon.
  const wait =
    mustEnrol && left > 0
      ? Math.max(smallStep, left * (0.4 + Math.random() * 0.2))
      : soonest + Math.random() * (left > 0 ? Math.min(spread, left) : spread)
  return { ...record, keptAt: now, renewAt: now + wait, problem: { errorCode, message } }
}

export const isGood = ({ goodUntil }: DeviceRecord, now: number): boolean => now < goodUntil

export const isDue = ({ renewAt }: DeviceRecord, now: number): boolean => now >= renewAt

/** Why there is no attestation that could be sent, until it is time to ask again. */
export const problemOf = ({ problem, renewAt }: DeviceRecord, now: number): DeviceError =>
  new DeviceError(problem?.errorCode ?? 'Unreachable', problem?.message ?? 'The attestation has expired.', {
    retryAfterSeconds: Math.ceil(renewAt - now),
  })

/**
 * What was read from a store, as the record that it should be. With a clock that stepped back nobody knows how long the
 * attestation is valid, no longer than it was when it was written, so that it is renewed at once.
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

/** `cnf.jkt` of the attestation; undefined: there is none that could be read. */
const thumbprintIn = (read: unknown): string | undefined => {
  try {
    const { jkt } = decodeJwt<{ cnf: { jkt?: unknown } }>((read as DeviceRecord).attestation).cnf
    return typeof jkt === 'string' ? jkt : undefined
  } catch {
    return undefined
  }
}
