import { readConfig, type ConfigReading } from '../../config/load.js'
import { ConfigurationError } from '../../config/problems.js'
import { RecordsUnreadable } from '../observe/json-records.js'
import { reconcile } from '../observe/reconcile.js'
import { CommandFailed } from './failure.js'
import { print, printJson, printTable } from './output.js'

export interface ReconcileCommandOptions {
  readonly cloudtrail: readonly string[]
  readonly audit?: readonly string[]
  readonly config?: string
  readonly from?: number
  readonly until?: number
  readonly json?: true
}

/** Secrets of the file need not be there: only names are read. */
const readWritten = async (file: string | undefined): Promise<ConfigReading['salvaged']> => {
  if (file === undefined) return {}
  const { salvaged, problems } = await readConfig(file, process.env)
  if (problems.some(({ path }) => path === '')) throw new ConfigurationError(problems)
  return salvaged
}

/** `signet audit reconcile`: exit code 1 when the two logs do not tell of the same signatures. */
export const reconcileAudit = async (options: ReconcileCommandOptions): Promise<void> => {
  const { cloudtrail, from, until } = options
  const config = await readWritten(options.config)
  const ownLog = typeof config.audit === 'object' ? config.audit.file : undefined
  const audit = options.audit ?? (ownLog === undefined ? [] : [ownLog])
  if (audit.length === 0)
    throw new CommandFailed('There is no audit log: name one with --audit, or a --config that has one.')
  const keys = config.keys?.flatMap((key) => key?.ref ?? [])
  const found = await reconcile({
    cloudtrail,
    audit,
    ...(keys && { keys }),
    ...(from !== undefined && { from }),
    ...(until !== undefined && { until }),
  }).catch((error: unknown) => {
    throw error instanceof RecordsUnreadable ? new CommandFailed(error.message) : error
  })
  const { unissued, unsigned } = found
  if (unissued.length + unsigned.length > 0) process.exitCode = 1
  if (options.json) return printJson(found)
  print(
    `${String(found.signatures)} signatures in CloudTrail, ${String(found.recorded)} in the audit log, ${String(found.matched)} in both`,
  )
  print(`left out: ${String(found.failed)} failed calls, ${String(found.others)} other records`)
  print(`\n${String(unissued.length)} signatures that nobody issued`)
  if (unissued.length > 0)
    printTable(
      ['TIME', 'REQUEST ID', 'KEY', 'CALLER'],
      unissued.map(({ time, request_id, key, caller }) => [time, request_id, key, caller]),
    )
  print(`\n${String(unsigned.length)} tokens with no signature`)
  if (unsigned.length > 0)
    printTable(
      ['TIME', 'EVENT', 'REFERENCE', 'SIGNER', 'KID', 'CLIENT_ID', 'JTI'],
      unsigned.map((one) => [one.time, one.event, one.reference, one.signer, one.kid, one.client_id, one.jti]),
    )
}
