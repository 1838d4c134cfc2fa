import type { JsonObject } from '../../json.js'
import type { AuditBefore, AuditEnd } from '../../observe/audit-verify.js'

/** The version of the format that is written here, and the only one that is read. */
export const packFormat = 1

/** The files whose digests are in the manifest. */
export const partNames = {
  audit: 'audit.jsonl',
  chain: 'chain.json',
  changes: 'changes.jsonl',
  operators: 'operators.json',
  keys: 'keys.json',
  signatures: 'signatures.json',
  reconciliation: 'reconciliation.json',
  sbom: 'sbom.json',
  keyLog: 'key-log.json',
  page: 'index.html',
} as const

/** The manifest itself, what proves it, and when. */
export const sealNames = {
  manifest: 'manifest.json',
  signature: 'manifest.jwt',
  query: 'timestamp.tsq',
  timestamp: 'timestamp.tsr',
} as const

/** The `typ` of the signature (RFC 7515 §4.1.9). */
export const packType = 'audit-pack+jwt'

/** A file of the pack. */
export interface PackFile {
  readonly name: string
  readonly bytes: number
  /** base64url. */
  readonly sha256: string
}

/** `manifest.json`, whose bytes are the payload of `manifest.jwt`. Times are ISO 8601. */
export interface Manifest {
  readonly format: number
  /** The version that made the pack, with its commit. */
  readonly version: string
  readonly commit?: string
  readonly issuer: string
  /** The lines of the audit log in it have these times: `from` included, `to` excluded. */
  readonly range: { readonly from: string; readonly to: string }
  readonly made_at: string
  readonly made_by: JsonObject
  /** The authority whose time stamp belongs to the pack. */
  readonly timestamp_authority?: string
  readonly files: readonly PackFile[]
}

/**
 * `chain.json`: what a verifier needs beside the lines to see that none of the range was changed, moved or removed.
 */
export interface ChainProof {
  readonly lines: number
  /** The number of lines before the first line of each log file, in the order of the files. */
  readonly files: readonly number[]
  readonly before: AuditBefore
  /** The first line after the range of each writer that has lines before or in it. */
  readonly after: readonly (Omit<AuditEnd, 'head'> & { readonly prev: string | null })[]
  /** Hashes of lines of the range that later lines of other writers name. */
  readonly named: readonly string[]
  /** The heads of the whole log when the pack was made, for `audit verify --head`. */
  readonly heads: readonly Omit<AuditEnd, 'pid'>[]
}

/** A part as it is written. What is derived from the audit log is compared as text. */
export const packJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
