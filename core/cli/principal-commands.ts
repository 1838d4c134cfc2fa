import { InvalidArgumentError, Option, type Command } from 'commander'
import { principalTypes } from '../attestation/ports.js'
import type { ListOptions } from './list-principals.js'
import {
  addPrincipalOptions,
  configOption,
  jsonOption,
  namePrincipal,
  wideOption,
  type PrincipalOptions,
} from './options.js'
import { toPrincipal } from './principal-names.js'
import type { OnePrincipalOptions, PrincipalsOptions } from './principals.js'
import type { DenyOptions } from './waiting-principals.js'

/** Adds the commands for principals that are enrolled, that may no longer renew, and that wait for a person. */
export const addPrincipalCommands = (principals: Command): void => {
  principals
    .command('list')
    .description('list principals that have enrolled a key')
    .addOption(new Option('--state <state>', 'only these').choices(['active', 'revoked']))
    .option('--subject <subject>', 'only those of this subject')
    .addOption(new Option('--type <type>', 'only this principal_type').choices(principalTypes))
    .option('--limit <count>', 'at most so many; default: 1000 in a table, otherwise all', parseCount)
    .option('--after <id>', 'begin after the principal with this id, which the output before names')
    .addOption(configOption())
    .addOption(new Option('--json-lines', 'print one JSON object a line').conflicts('json'))
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ListOptions) => (await import('./list-principals.js')).printPrincipals(options))
  onePrincipal(principals, 'show', 'show a principal', async (options) =>
    (await import('./principals.js')).printPrincipal(options),
  )
  addRevoke(principals)
  onePrincipal(principals, 'restore', 'restore a revoked principal', async (options) =>
    (await import('./principals.js')).restore(options),
  )
  onePrincipal(principals, 'release', 'end an enrolment, so that another subject may enrol the id', async (options) =>
    (await import('./principals.js')).release(options),
  )
  principals
    .command('waiting')
    .description('list enrolments that are waiting for approval')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: PrincipalsOptions) => (await import('./waiting-principals.js')).printWaiting(options))
  principals
    .command('approve')
    .description('approve a waiting enrolment')
    .argument('<id>')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (id: string, options: PrincipalsOptions) =>
      (await import('./waiting-principals.js')).decideWaiting(id, 'approve', options),
    )
  principals
    .command('deny')
    .description('deny one waiting enrolment, or many')
    .argument('[id]')
    .addOption(new Option('--address <address>', 'all waiting enrolments from this address').conflicts('all'))
    .option('--all', 'all waiting enrolments')
    .option('--kind <kind>', 'with --address or --all: only those of this second factor')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (id: string | undefined, options: DenyOptions, command: Command) => {
      const { address, all, kind } = options
      const many = address !== undefined || all === true
      if (many === (id !== undefined)) command.error('error: give an id, --address or --all')
      if (kind !== undefined && !many) command.error('error: --kind goes with --address or --all')
      const { decideWaiting, denyWaiting } = await import('./waiting-principals.js')
      await (id === undefined ? denyWaiting(options) : decideWaiting(id, 'deny', options))
    })
}

/** Accepts several names, or a file of names, so that one command revokes a batch. */
const addRevoke = (principals: Command): void => {
  const revoke = principals
    .command('revoke')
    .description('refuse principals from their next request on, with any key')
    .addOption(configOption())
    .option('--from <file>', 'every principal of a CSV file with the columns subject,principal_id')
  addPrincipalOptions(revoke, '[subject/principal_id...]')
    .addOption(jsonOption())
    .action(async (written: readonly string[], options: RevokeOptions, command: Command) => {
      const { from, subject, principalId, type } = options
      const isFlagged = subject !== undefined || principalId !== undefined
      if (from !== undefined && (written.length > 0 || isFlagged)) command.error('error: --from names the principals')
      const { revokeOne, revokeSeveral, revokePrincipalsOf } = await import('./revoke-principals.js')
      if (from !== undefined) return revokePrincipalsOf(from, type, options)
      const [first, ...more] = written
      const named = (name: string | undefined) => toPrincipal({ type, ...namePrincipal(name, options, command) })
      if (more.length === 0) return revokeOne(named(first), options)
      return revokeSeveral([...new Set(written)].map(named), options)
    })
}

type RevokeOptions = WrittenOptions & { readonly from?: string }

const onePrincipal = (
  principals: Command,
  name: string,
  description: string,
  run: (options: OnePrincipalOptions) => Promise<void>,
): void => {
  addPrincipalOptions(principals.command(name).description(description).addOption(configOption()))
    .addOption(jsonOption())
    .action(async (written: string | undefined, options: WrittenOptions, command: Command) =>
      run({ ...options, ...namePrincipal(written, options, command) }),
    )
}

type WrittenOptions = Omit<OnePrincipalOptions, keyof PrincipalOptions> & PrincipalOptions

const parseCount = (written: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(written)) throw new InvalidArgumentError('Write a whole number from 1 on.')
  return Number(written)
}
