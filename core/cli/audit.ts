import { readConfig, type ConfigReading } from '../../config/load.js'
import { ConfigurationError } from '../../config/problems.js'
import { verifyAudit, type AuditVerification } from '../observe/audit-verify.js'
import { verifyApprovals, type ApprovalVerification } from '../operate/verify-approvals.js'
import { countSignatures } from '../operate/count-signatures.js'
import { readLines, RecordsUnreadable } from '../operate/json-records.js'
import { compareHsmLogs, type HsmReconciliation } from '../operate/hsm-logs/compare-counts.js'
import type { HsmLogFile } from '../operate/hsm-logs/read-hsm-logs.js'
import { reconcile, type Reconciliation } from '../operate/reconcile.js'
import type { ConfiguredKey } from '../operate/trail-keys.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson, show } from './output.js'
import { printList, printTable } from './table.js'

export interface ReconcileCommandOptions {
  readonly cloudtrail?: readonly string[]
  readonly hsmLog?: readonly HsmLogFile[]
  readonly audit?: readonly string[]
  readonly config?: string
  readonly from?: number
  readonly until?: number
  readonly json?: true
}

/** CloudTrail does not record the keys of these signers. */
const outsideTrail = new Set<unknown>(['signers/local', 'signers/pkcs11'])

export const explainRecords = (error: unknown): never => {
  throw error instanceof RecordsUnreadable ? new CommandFailed(error.message) : error
}

/** Reads the configuration as written. Its secrets need not exist, because only names are read. */
export const readWritten = async (file: string | undefined): Promise<ConfigReading['salvaged']> => {
  if (file === undefined) return {}
  const { salvaged, problems } = await readConfig(file, process.env)
  if (problems.some(({ path }) => path === '')) throw new ConfigurationError(problems)
  return salvaged
}

export const logsOf = ({ audit }: ConfigReading['salvaged']): readonly string[] =>
  typeof audit === 'object' && audit.file !== undefined ? [audit.file] : []

/** The keys that CloudTrail may record. Those of a slot are known to the store alone. */
export const trailKeysOf = ({ keys, signers }: ConfigReading['salvaged']): readonly ConfiguredKey[] | undefined =>
  keys
    ?.flatMap((key) => (key === undefined || 'slot' in key ? [] : [{ signer: key.signer, ref: key.ref }]))
    .filter(({ signer = '' }) => !outsideTrail.has(signers?.[signer]?.use))

/** The signers whose keys are in an HSM with a log of its own. */
export const hsmSignersOf = ({ signers }: ConfigReading['salvaged']): readonly string[] | undefined =>
  signers && Object.entries(signers).flatMap(([name, signer]) => (signer?.use === 'signers/pkcs11' ? [name] : []))

/** Implements `signet audit reconcile`. The exit code is 1 when the two logs do not record the same signatures. */
export const reconcileAudit = async (options: ReconcileCommandOptions): Promise<void> => {
  const { cloudtrail, hsmLog, from, until } = options
  const config = await readWritten(options.config)
  const audit = options.audit ?? logsOf(config)
  if (audit.length === 0) throw new CommandFailed('No audit log was given: use --audit, or a --config that has one.')
  const keys = trailKeysOf(config)
  const times = { ...(from !== undefined && { from }), ...(until !== undefined && { until }) }
  const trail =
    cloudtrail && (await reconcile({ cloudtrail, audit, ...(keys && { keys }), ...times }).catch(explainRecords))
  const range = { from: from ?? -Infinity, until: until ?? Infinity }
  const hsm = hsmLog && (await compareHsmLogs(hsmLog, audit, hsmSignersOf(config), range).catch(explainRecords))
  if (trail && trail.unissued.length + trail.unsigned.length > 0) process.exitCode = 1
  if (hsm?.counts && hsm.counts.logged !== hsm.counts.recorded) process.exitCode = 1
  if (hsm?.logs.some(({ gaps }) => gaps.length > 0)) process.exitCode = 1
  if (options.json) return printJson({ ...trail, ...(hsm && { hsm }) })
  if (trail) printTrail(trail)
  if (trail && hsm) print('')
  if (hsm) printHsmLogs(hsm)
}

const printTrail = (found: Reconciliation): void => {
  const { unissued, unsigned } = found
  print(
    `${String(found.signatures)} signatures in CloudTrail, ${String(found.recorded)} in the audit log, ${String(found.matched)} in both`,
  )
  print(`left out: ${String(found.failed)} failed calls, ${String(found.others)} other records`)
  if (found.unnamed.length > 0)
    print(
      `signatures by other keys may be included: the audit log does not say which key is ${found.unnamed.join(', ')}`,
    )
  print(`\n${String(unissued.length)} signatures without a token`)
  if (unissued.length > 0)
    printTable(
      ['TIME', 'REQUEST ID', 'KEY', 'CALLER'],
      unissued.map(({ time, request_id, key, caller }) => [time, request_id, key, caller]),
    )
  print(`\n${String(unsigned.length)} tokens without a signature`)
  if (unsigned.length > 0)
    printTable(
      ['TIME', 'EVENT', 'REFERENCE', 'SIGNER', 'KID', 'CLIENT_ID', 'JTI'],
      unsigned.map((one) => [one.time, one.event, one.reference, one.signer, one.kid, one.client_id, one.jti]),
    )
}

const printHsmLogs = ({ logs, counts }: HsmReconciliation): void => {
  for (const { format, events, outside, unread, uncounted, operations, gaps } of logs) {
    print(
      `${format}: ${String(events)} events, ${String(outside)} at other times, ${String(unread)} lines not understood`,
    )
    if (uncounted !== undefined) print(uncounted)
    for (const { log, after, before } of gaps)
      print(`${show(log)}: nothing between the numbers ${String(after)} and ${String(before)}: events are missing`)
    if (operations.length > 0)
      printTable(
        ['OPERATION', 'RESULT', 'COUNT', 'FIRST', 'LAST'],
        operations.map(({ operation, result, count, first, last }) => [operation, result, String(count), first, last]),
      )
    print('')
  }
  if (counts === undefined) return
  const of = counts.signers === undefined ? 'all signers' : counts.signers.join(', ')
  print(
    `${String(counts.logged)} signatures in the logs of HSMs, ${String(counts.recorded)} in the audit log, by ${of}`,
  )
  if (counts.hours.length > 0)
    printTable(
      ['HOUR', 'HSM', 'AUDIT LOG'],
      counts.hours.map(({ hour, logged, recorded }) => [hour, String(logged), String(recorded)]),
    )
}

export interface CountCommandOptions {
  readonly config?: string
  readonly from?: number
  readonly until?: number
  readonly json?: true
}

/** Implements `signet audit count`. */
export const countAudit = async (files: readonly string[], options: CountCommandOptions): Promise<void> => {
  const { from, until, json } = options
  const audit = files.length === 0 ? await findLogs(options) : files
  const counts = await countSignatures({
    audit,
    ...(from !== undefined && { from }),
    ...(until !== undefined && { until }),
  }).catch(explainRecords)
  if (json) return printJson(counts)
  printList(
    'signatures',
    ['KID', 'SIGNER', 'ISSUED', 'PROBES', 'FIRST', 'LAST'],
    counts.map((row) => [row.kid, row.signer, String(row.issued), String(row.probes), row.first, row.last]),
  )
}

export interface VerifyCommandOptions {
  readonly config?: string
  readonly partial?: true
  readonly head?: readonly string[]
  readonly approvals?: true
  readonly json?: true
}

/**
 * Implements `signet audit verify`. The exit code is 1 when a line was altered or moved, when there is no line at all,
 * and with `--approvals` for a change that too few operators have approved.
 */
export const verifyAuditFiles = async (files: readonly string[], options: VerifyCommandOptions): Promise<void> => {
  const { partial = false, head: heads = [], json } = options
  const logs = files.length === 0 ? await findLogs(options) : files
  // They are read twice.
  if (options.approvals && logs.includes('-')) throw new CommandFailed('Name the files of the log for --approvals.')
  const found = await verifyAudit(logs.map(readLines), { partial, heads }).catch(explainRecords)
  // Otherwise an empty file would pass as a complete log.
  if (found.lines === 0) throw new CommandFailed('The log is empty: nothing was verified.')
  const approvals = options.approvals && (await verifyApprovals(logs.map(readLines)))
  const approvalFaults = approvals?.faults.length ?? 0
  if (found.faults.length + found.lostHeads.length + approvalFaults > 0) process.exitCode = 1
  if (json) return printJson({ ...found, ...(approvals && { approvals }) })
  printVerification(found)
  if (approvals !== undefined) printApprovals(approvals)
}

const printApprovals = ({ actions, faults }: ApprovalVerification): void => {
  print('')
  printList(
    'approved actions',
    ['APPROVAL', 'ACTION', 'OBJECT', 'BY', 'APPROVED BY'],
    actions.map(({ approval, action, object, requestedBy, approvedBy, brokenGlass }) => [
      ...[approval, action, object, requestedBy],
      brokenGlass === undefined ? approvedBy.join(' ') : `nobody: ${brokenGlass}`,
    ]),
  )
  for (const { line, message } of faults) print(`line ${String(line)}: ${message}`)
}

/** Without a configuration, the log is read from standard input. */
export const findLogs = async ({ config: file }: { readonly config?: string }): Promise<readonly string[]> => {
  if (file === undefined) return ['-']
  const logs = logsOf(await readWritten(file))
  if (logs.length === 0) throw new CommandFailed('The audit log of this configuration is not a file: name the files.')
  // The names of the logs are printed, because the command line did not name them.
  for (const log of logs) printError(`audit log: ${log}`)
  return logs
}

const printVerification = ({ lines, writers, faults, torn, unchained, lostHeads }: AuditVerification): void => {
  print(`${String(lines)} lines of ${String(writers.length)} writers`)
  if (unchained > 0) print(`${String(unchained)} lines of earlier versions, which have no chain`)
  for (const line of torn)
    print(`line ${String(line)} is incomplete: a process ended, or the disk was full, while it was being written`)
  if (writers.length > 0) {
    print('')
    printTable(
      ['WRITER', 'PID', 'LINES', 'SEQ', 'HEAD'],
      writers.map(({ writer, pid, lines: count, first, last, head }) => {
        return [writer, String(pid), String(count), `${String(first)}-${String(last)}`, head]
      }),
    )
  }
  print('')
  for (const { kind, line, writer, message } of faults)
    print(`line ${String(line)}${writer === undefined ? '' : ` of ${writer}`}: ${kind}: ${message}`)
  for (const head of lostHeads) print(`head ${head}: no line has this hash`)
  if (faults.length + lostHeads.length === 0) print('Every chain is complete.')
}
