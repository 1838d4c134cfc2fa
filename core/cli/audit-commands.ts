import { InvalidArgumentError, Option, type Command } from 'commander'
import { hsmLogFormats, isHsmLogFormat, type HsmLogFile } from '../operate/hsm-logs/read-hsm-logs.js'
import type { CountCommandOptions, ReconcileCommandOptions, VerifyCommandOptions } from './audit.js'
import { objectTypes } from '../observe/audit-search/terms.js'
import type { MakePackOptions } from './audit-pack.js'
import type { AuditSearchOptions } from './audit-search.js'
import type { VerifyPackCommandOptions } from './verify-audit-pack.js'
import {
  collect,
  demand,
  jsonOption,
  nameConfig,
  optionalConfig,
  parseDuration,
  requireConfig,
  wideOption,
} from './options.js'

type PackCommandOptions = Partial<MakePackOptions> & VerifyPackCommandOptions & { readonly verify?: string }

/** Adds the commands for the audit log. */
export const addAuditCommands = (audit: Command): void => {
  audit
    .command('verify')
    .description('verify the chains of the audit log: report lines that were changed, moved or removed')
    .argument('[files...]', 'oldest first, plain or gzip; -: standard input; default: the log of the configuration')
    .addOption(optionalConfig('verify the log of this configuration'))
    .option('--partial', 'accept that earlier lines are in files that are not given')
    .option('--head <hash>', 'a head noted earlier, which the log must contain; may be repeated', collect)
    .option('--approvals', 'verify also that other operators have approved each change under dual control')
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
    .description('compare the signatures in CloudTrail, or in the log of an HSM, with the audit log')
    .option('--cloudtrail <files...>', 'exports of CloudTrail, .json or .json.gz')
    .addOption(hsmLogOption())
    .option('--audit <files...>', 'audit logs; default: the one of the configuration')
    .addOption(optionalConfig('compare only the keys of this configuration'))
    .option('--from <time>', 'do not report signatures before this time as missing', parseTime)
    .option('--until <time>', 'do not report signatures from this time on as missing', parseTime)
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ReconcileCommandOptions, command: Command) => {
      if (options.hsmLog === undefined) demand(command, 'cloudtrail')
      nameConfig(command)
      await (await import('./audit.js')).reconcileAudit(options)
    })
  addSearchCommands(audit)
  addPackCommand(audit)
}

const searched = (command: Command): Command =>
  command
    .argument('[files...]', 'oldest first, plain or gzip; -: standard input; default: the log of the configuration')
    .addOption(optionalConfig('search the log of this configuration, and the files that it had before'))
    .option('--since <when>', 'from this time on, or for so long: 24h, 7d', parseWhen)
    .option('--until <when>', 'before this time, or so long ago', parseWhen)
    .addOption(jsonOption())
    .addOption(wideOption())

/** Adds the commands that search the log. */
const addSearchCommands = (audit: Command): void => {
  const limit = ['--limit <number>', 'how many lines to print', parseCount] as const
  searched(audit.command('find').description('find lines of the audit log, the newest first'))
    .option('--event <name>', 'an event, or its beginning: account.*; may be repeated', collect)
    .option('--client <id>', 'client_id')
    .option('--sub <sub>', 'the person')
    .option('--jti <jti>', 'the token')
    .option('--kid <kid>', 'the key')
    .option('--operator <name>', 'the operator; local: a command on the host')
    .option('--request-id <id>', 'the request')
    .addOption(objectOption())
    .option(...limit, 50)
    .action(search('printAuditLines'))
  searched(audit.command('changes').description('show who changed what, the newest change first'))
    .option('--operator <name>', 'the operator; local: a command on the host')
    .option(...limit, 1000)
    .action(search('printChanges'))
  searched(audit.command('who').description('show each change of one object, with its operator and what was changed'))
    .addOption(objectOption().makeOptionMandatory())
    .option(...limit, 1000)
    .action(search('printWho'))
  searched(audit.command('algorithms').description('show which client gets tokens of which algorithm'))
    .option('--client <id>', 'client_id')
    .action(search('printAlgorithms'))
}

type SearchCommand = 'printAuditLines' | 'printChanges' | 'printWho' | 'printAlgorithms'

const search =
  (name: SearchCommand) => async (files: readonly string[], options: AuditSearchOptions, command: Command) => {
    if (files.length === 0) nameConfig(command)
    await (await import('./audit-search.js'))[name](files, options)
  }

const objectOption = (): Option =>
  new Option('--object <type:id>', `what was changed: ${objectTypes.join(', ')}, and its id: client:shop`).argParser(
    (written: string) => {
      if (objectTypes.includes(written.slice(0, written.indexOf(':')))) return written
      throw new InvalidArgumentError(`Write a type (${objectTypes.join(', ')}), a colon, and an id: client:shop.`)
    },
  )

/** Milliseconds since the epoch, of a time or a duration before now. */
const parseWhen = (written: string): number =>
  /^\d+[smhd]$/.test(written) ? Date.now() - parseDuration(written) * 1000 : parseTime(written)

const parseCount = (written: string): number => {
  const count = /^[1-9]\d{0,5}$/.test(written) ? Number(written) : NaN
  if (!(count <= 100_000)) throw new InvalidArgumentError('Write a number from 1 to 100000.')
  return count
}

const addPackCommand = (audit: Command): void => {
  audit
    .command('pack')
    .description('make a signed folder with what an auditor needs of a period, or verify one')
    .option('--from <time>', 'the beginning of the period', parseTime)
    .option('--to <time>', 'the end of the period, which is not part of it', parseTime)
    .option('--out <folder>', 'where the pack is made: a new or empty folder')
    .option('--audit <files...>', 'audit logs, oldest first; default: the one of the configuration')
    .option('--cloudtrail <files...>', 'exports of CloudTrail to compare')
    .addOption(hsmLogOption())
    .addOption(optionalConfig('make a pack of this deployment'))
    .option('--verify <folder>', 'verify a pack; this needs neither a configuration nor a store')
    .option('--key <file>', 'the public key of the deployment: JWK, JWK Set or PEM')
    .option('--timestamp-ca <file>', 'certificates in PEM that the time stamp must lead to')
    .addOption(jsonOption())
    .action(async (options: PackCommandOptions, command: Command) => {
      if (options.verify !== undefined) {
        for (const name of ['from', 'to', 'out', 'audit', 'cloudtrail', 'hsmLog'])
          if (command.getOptionValue(name) !== undefined) command.error('error: --verify only verifies')
        return (await import('./verify-audit-pack.js')).verifyAuditPack(options.verify, options)
      }
      demand(command, 'from', 'to', 'out')
      if (options.key !== undefined || options.timestampCa !== undefined)
        command.error('error: --key and --timestamp-ca belong to --verify')
      requireConfig(command)
      await (await import('./audit-pack.js')).makeAuditPack(options as MakePackOptions)
    })
}

const hsmLogOption = (): Option =>
  new Option('--hsm-log <format=file...>', `logs of HSMs: ${Object.keys(hsmLogFormats).join(', ')}`).argParser(
    parseHsmLog,
  )

const parseHsmLog = (written: string, before: readonly HsmLogFile[] = []): readonly HsmLogFile[] => {
  const [format = '', ...rest] = written.split('=')
  const file = rest.join('=')
  if (!isHsmLogFormat(format) || file === '')
    throw new InvalidArgumentError(`Write one of ${Object.keys(hsmLogFormats).join(', ')}, and a file: luna=hsm.log.`)
  return [...before, { format, file }]
}

const parseTime = (written: string): number => {
  const time = Date.parse(written)
  if (Number.isNaN(time)) throw new InvalidArgumentError('Write a time such as 2026-11-20T00:00:00Z.')
  return time
}
