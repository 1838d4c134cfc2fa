import { InvalidArgumentError, type Command } from 'commander'
import type { CountCommandOptions, ReconcileCommandOptions, VerifyCommandOptions } from './audit.js'
import { collect, demand, jsonOption, nameConfig, optionalConfig, wideOption } from './options.js'

/** Adds the commands for the audit log. */
export const addAuditCommands = (audit: Command): void => {
  audit
    .command('verify')
    .description('verify the chains of the audit log: report lines that were changed, moved or removed')
    .argument('[files...]', 'oldest first, plain or gzip; -: standard input; default: the log of the configuration')
    .addOption(optionalConfig('verify the log of this configuration'))
    .option('--partial', 'accept that earlier lines are in files that are not given')
    .option('--head <hash>', 'a head noted earlier, which the log must contain; may be repeated', collect)
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (files: readonly string[], options: VerifyCommandOptions, command: Command) => {
      if (files.length === 0) nameConfig(command)
      await (await import('./audit.js')).verifyAuditFiles(files, options)
    })
  audit
    .command('count')
    .description('count the signatures of each key, to compare them with the counter of an HSM')
    .argument('[files...]', 'audit logs, plain or gzip; default: the log of the configuration')
    .addOption(optionalConfig('count in the log of this configuration'))
    .option('--from <time>', 'only from this time on', parseTime)
    .option('--until <time>', 'only before this time', parseTime)
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (files: readonly string[], options: CountCommandOptions, command: Command) => {
      if (files.length === 0) nameConfig(command)
      await (await import('./audit.js')).countAudit(files, options)
    })
  audit
    .command('reconcile')
    .description('compare the signatures in CloudTrail with the audit log')
    .option('--cloudtrail <files...>', 'exports of CloudTrail, .json or .json.gz (required)')
    .option('--audit <files...>', 'audit logs; default: the one of the configuration')
    .addOption(optionalConfig('compare only the keys of this configuration'))
    .option('--from <time>', 'do not report signatures before this time as missing', parseTime)
    .option('--until <time>', 'do not report signatures from this time on as missing', parseTime)
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ReconcileCommandOptions, command: Command) => {
      demand(command, 'cloudtrail')
      nameConfig(command)
      await (await import('./audit.js')).reconcileAudit(options)
    })
}

const parseTime = (written: string): number => {
  const time = Date.parse(written)
  if (Number.isNaN(time)) throw new InvalidArgumentError('Write a time such as 2026-11-20T00:00:00Z.')
  return time
}
