import { Option, type Command } from 'commander'
import { addPrincipalOptions, configOption, demandPrincipal, jsonOption } from './options.js'
import type { OnePrincipalOptions, PrincipalsOptions } from './principals.js'
import type { DenyOptions } from './waiting-principals.js'

/** Who is enrolled, who may renew no more, and who waits for a person. */
export const addPrincipalCommands = (principals: Command): void => {
  principals
    .command('list')
    .description('all that enrolled a key')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: PrincipalsOptions) => (await import('./principals.js')).printPrincipals(options))
  onePrincipal(principals.command('show').description('what is known of a principal')).action(
    async (options: OnePrincipalOptions, command: Command) => {
      demandPrincipal(command)
      await (await import('./principals.js')).printPrincipal(options)
    },
  )
  onePrincipal(
    principals.command('revoke').description('refuse a principal from its next request on, whatever its key'),
  ).action(async (options: OnePrincipalOptions, command: Command) => {
    demandPrincipal(command)
    await (await import('./principals.js')).revokePrincipal(options)
  })
  onePrincipal(principals.command('restore').description('take a revocation back')).action(
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
    .description('enrolments that a person has to decide about')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: PrincipalsOptions) => (await import('./waiting-principals.js')).printWaiting(options))
  principals
    .command('approve')
    .description('approve an enrolment that waits')
    .argument('<id>')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (id: string, options: PrincipalsOptions) =>
      (await import('./waiting-principals.js')).decideWaiting(id, 'approve', options),
    )
  principals
    .command('deny')
    .description('deny an enrolment that waits, or many')
    .argument('[id]')
    .addOption(new Option('--address <address>', 'all that wait from this address').conflicts('all'))
    .option('--all', 'all that wait')
    .option('--kind <kind>', 'with --address or --all: of this second factor alone')
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
