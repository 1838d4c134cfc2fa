import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { compareHsmLogs, type HsmReconciliation } from '../hsm-logs/compare-counts.js'
import type { HsmLogFile } from '../hsm-logs/read-hsm-logs.js'
import { reconcile, type Reconciliation } from '../reconcile.js'
import type { ConfiguredKey } from '../trail-keys.js'

/** The logs of backends for a range, and what of them is ours. */
export interface BackendLogs {
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  /** The files of the audit log, oldest first. */
  readonly audit: readonly string[]
  readonly cloudtrail: readonly string[]
  /** The keys that CloudTrail records, as far as the configuration names them. */
  readonly trailKeys?: readonly ConfiguredKey[]
  readonly hsmLogs: readonly HsmLogFile[]
  /** The signers whose keys are in an HSM. */
  readonly hsmSigners: readonly string[]
}

/** A log of a backend that was compared: who has it can compare again. */
export interface ComparedFile {
  readonly kind: string
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

/** `reconciliation.json`. */
export interface PackReconciliation {
  readonly files: readonly ComparedFile[]
  readonly cloudtrail?: Reconciliation
  readonly hsm?: HsmReconciliation
}

const digestFile = async (kind: string, file: string): Promise<ComparedFile> => {
  const digest = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    digest.update(chunk)
    bytes += chunk.byteLength
  }
  return { kind, name: basename(file), bytes, sha256: digest.digest('base64url') }
}

/** Compares the audit log with those of the backends. Throws `RecordsUnreadable`, or the system's error. */
export const compareBackends = async (request: BackendLogs): Promise<PackReconciliation> => {
  const { cloudtrail, hsmLogs, hsmSigners, trailKeys, audit, from, to: until } = request
  const files = [
    ...cloudtrail.map((file) => ({ kind: 'cloudtrail', file })),
    ...hsmLogs.map(({ format: kind, file }) => ({ kind, file })),
  ]
  const compared: ComparedFile[] = []
  for (const { kind, file } of files) compared.push(await digestFile(kind, file))
  return {
    files: compared,
    ...(cloudtrail.length > 0 && {
      cloudtrail: await reconcile({ cloudtrail, audit, from, until, ...(trailKeys && { keys: trailKeys }) }),
    }),
    ...(hsmLogs.length > 0 && { hsm: await compareHsmLogs(hsmLogs, audit, hsmSigners, { from, until }) }),
  }
}
