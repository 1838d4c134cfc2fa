import { Option, type Command } from 'commander'
import { addPrincipalOptions, configOption, demandPrincipal, jsonOption } from './options.js'
import type { OnePrincipalOptions, PrincipalsOptions } from './principals.js'
import type { DenyOptions } from './waiting-principals.js'

/** Who is enrolled, who may renew no more, and who waits for a person. */
export const addPrincipalCommands = (principals: Command): void => {
  principals
    .command('list')
    .description('list all principals that have enrolled a key')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: PrincipalsOptions) => (await import('./principals.js')).printPrincipals(options))
  onePrincipal(principals.command('show').description('show a principal')).action(
    async (options: OnePrincipalOptions, command: Command) => {
      demandPrincipal(command)
      await (await import('./principals.js')).printPrincipal(options)
    },
  )
  onePrincipal(
    principals.command('revoke').description('refuse a principal from its next request on, with any key'),
  ).action(async (options: OnePrincipalOptions, command: Command) => {
    demandPrincipal(command)
    await (await import('./principals.js')).revokePrincipal(options)
  })
  onePrincipal(principals.command('restore').description('restore a revoked principal')).action(
    async (options: OnePrincipalOptions, command: Command) => {
      demandPrincipal(command)
      await (await import('./principals.js')).restorePrincipal(options)
    },
  )
  onePrincipal(
    principals.command('release').description('end an enrolment, so that another subject may enrol the id'),
  ).action(async (options: OnePrincipalOptions, command: Command) => {
    demandPrincipal(command)
    await (await import('./principals.js')).releasePrincipal(options)
  })
  principals
    .command('waiting')
    .description('list enrolments that are waiting for approval')
    .addOption(configOption())
    .addOption(jsonOption())
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

const onePrincipal = (command: Command): Command =>
  addPrincipalOptions(command.addOption(configOption())).addOption(jsonOption())
