import type { Command } from 'commander'
import type { ApprovalOptions, ApproveOptions, RefuseOptions } from './approvals.js'
import { configOption, jsonOption, wideOption } from './options.js'

/** Adds the commands for actions that other operators must approve. */
export const addApprovalCommands = (program: Command): void => {
  const approvals = program.command('approvals').description('what waits for other operators').helpCommand(false)
  approvals
    .command('list')
    .description('list what waits for approval, and what did in the last 30 days')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ApprovalOptions) => (await import('./approvals.js')).printApprovals(options))
  approvals
    .command('show')
    .description('show one with the document that is approved')
    .argument('<id>')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (id: string, options: ApprovalOptions) => (await import('./approvals.js')).printApproval(id, options))
  approvals
    .command('refuse')
    .description('end one without carrying it out')
    .argument('<id>')
    .option('--reason <text>', 'for the audit log')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (id: string, options: RefuseOptions) => (await import('./approvals.js')).refuseApproval(id, options))
  program
    .command('approve')
    .description('carry out what waits for approval, in an emergency; reads the secret from standard input')
    .argument('<id>')
    .requiredOption('--break-glass <reason>', 'why nobody else can approve it, for the audit log')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (id: string, options: ApproveOptions) =>
      (await import('./approvals.js')).approveWithoutOthers(id, options),
    )
}
