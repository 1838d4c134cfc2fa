import { Argument, Command } from 'commander'
import { findNearMiss } from '../near-miss.js'
import { build } from '../package-root.js'
import { addAccountCommands } from './account-commands.js'
import { addAuditCommands } from './audit-commands.js'
import { addClientCommands } from './client-commands.js'
import { createCompletion, shells, type Shell } from './completion.js'
import { addDesiredCommands } from './desired-commands.js'
import { examples } from './examples.js'
import { addFactorCommands } from './factor-commands.js'
import { reportFailure } from './failure.js'
import { addKeyCommands } from './key-commands.js'
import { applyOptions, refuseServices } from './options.js'
import { print } from './output.js'
import { addApprovalCommands } from './approval-commands.js'
import { addOperatorCommands } from './operator-commands.js'
import { addPersonCommands } from './person-commands.js'
import { addPrincipalCommands } from './principal-commands.js'
import { addRegistrationCommands } from './registration-commands.js'
import { addServiceCommands } from './service-commands.js'

/**
 * Runs `signet …` and sets the exit code: 0 for success, 1 for a problem that was reported, 2 for wrong usage. The
 * code of each command is loaded when it runs, so that help and errors appear at once.
 */
export const runCommandLine = async (args: readonly string[]): Promise<void> => {
  // A reader that takes only the first lines, such as `head`, already has what it needs.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  try {
    await createProgram().parseAsync(args, { from: 'user' })
  } catch (error) {
    process.exitCode = reportFailure(error)
  }
}

/** Creates the tree of all commands. */
export const createProgram = (): Command => {
  const program = new Command('signet')
    .description('OpenID Provider whose keys may live in a file, an HSM or a KMS')
    .version(
      build.commit === undefined ? build.version : `${build.version} (${build.commit})`,
      '-V, --version',
      'print the version and the commit',
    )
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    // Otherwise a value that begins with -V, such as the sid of a session, would print the version.
    .enablePositionalOptions()
    .showHelpAfterError('Run the command with --help for its options.')
    .exitOverride()
    .hook('preAction', (_program, command) => applyOptions(command))
  addServiceCommands(program)
  addKeyCommands(program.command('keys').description('the keys of a deployment').helpCommand(false))
  addAuditCommands(program.command('audit').description('the audit log').helpCommand(false))
  addClientCommands(
    program.command('clients').description('clients in the records store, while the service runs').helpCommand(false),
  )
  addOperatorCommands(program.command('operators').description('who administers the deployment').helpCommand(false))
  addApprovalCommands(program)
  addDesiredCommands(program)
  addRegistrationCommands(
    program.command('registrations').description('who may register clients without an operator').helpCommand(false),
  )
  addAccountCommands(program.command('accounts').description('accounts for sign-in by password').helpCommand(false))
  addPersonCommands(program)
  const principals = program.command('principals').description('devices and services that enrol keys')
  addFactorCommands(principals.helpCommand(false))
  addPrincipalCommands(principals)
  addMetaCommands(program)
  refuseServices(program)
  showExamples(program, '')
  return program
}

/** Adds the commands that concern the command line itself. */
const addMetaCommands = (program: Command): void => {
  program
    .command('completion')
    .description('print a script with which a shell completes commands and options')
    .addArgument(new Argument('<shell>').choices(shells))
    .action((shell: Shell) => print(createCompletion(shell, program).trimEnd()))
  program
    .command('help')
    .description('print help')
    .argument('[command...]')
    .action((names: readonly string[]) => names.reduce(findCommand, program).outputHelp())
}

const findCommand = (group: Command, name: string): Command => {
  const found = group.commands.find((one) => one.name() === name)
  if (found !== undefined) return found
  const names = group.commands.map((one) => one.name())
  const near = findNearMiss(name, names)
  return group.error(`error: unknown command '${name}'${near === undefined ? '' : `\n(Did you mean ${near}?)`}`)
}

const showExamples = (command: Command, path: string): void => {
  const lines = examples[path]
  if (lines !== undefined)
    command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  signet ${line}`).join('\n')}`)
  for (const inner of command.commands) showExamples(inner, `${path} ${inner.name()}`.trim())
}
