import type { Command } from 'commander'
import { addPrincipalOptions, configOption, demandPrincipal, jsonOption } from './options.js'
import type { OnePrincipalOptions, PrincipalsOptions } from './principals.js'

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
  for (const decision of ['approve', 'deny'] as const)
    principals
      .command(decision)
      .description(`${decision} an enrolment that waits`)
      .argument('<id>')
      .addOption(configOption())
      .addOption(jsonOption())
      .action(async (id: string, options: PrincipalsOptions) =>
        (await import('./waiting-principals.js')).decideWaiting(id, decision, options),
      )
}

const onePrincipal = (command: Command): Command =>
  addPrincipalOptions(command.addOption(configOption())).addOption(jsonOption())
