import { Command, InvalidArgumentError, Option } from 'commander'
import { allAlgorithms } from '../jose/algorithms.js'
import { packageVersion } from '../package-root.js'
import { addAccountCommands } from './account-commands.js'
import type { AddClientOptions } from './add-client.js'
import type { ReconcileCommandOptions, VerifyCommandOptions } from './audit.js'
import type { ClientOptions } from './clients.js'
import type { DeploymentOptions } from './deployment.js'
import type { DoctorOptions } from './doctor.js'
import { reportFailure } from './failure.js'
import { addFactorCommands } from './factor-commands.js'
import type { CreateKeyOptions, ListKeysOptions } from './keys.js'
import type { MigrateOptions } from './migrate.js'
import { configOption, demand, jsonOption } from './options.js'
import type { PlanKeysOptions } from './plan-keys.js'
import { addPersonCommands } from './person-commands.js'
import { addPrincipalCommands } from './principal-commands.js'
import type { ReloadOptions } from './reload.js'

/**
 * Runs `signet …` and sets the exit code: 0 success, 1 a problem that was reported, 2 wrong usage. Each command's code
 * is loaded when it runs, so that help and mistakes answer at once.
 */
export const runCommandLine = async (args: readonly string[]): Promise<void> => {
  // Whoever reads only the first lines has what was wanted.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  try {
    await createProgram().parseAsync(args, { from: 'user' })
  } catch (error) {
    process.exitCode = reportFailure(error)
  }
}

const createProgram = (): Command => {
  const program = new Command('signet')
    .description('OpenID Provider whose keys may live in a file, an HSM or a KMS')
    .version(packageVersion, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help')
    .showHelpAfterError('Run the command with --help for its options.')
    .exitOverride()

  program
    .command('start')
    .description('serve; without --config a demo on http://localhost:3000')
    .addOption(configOption('the configuration; default: the demo'))
    .action(async (options: DeploymentOptions) => (await import('./start.js')).start(options))

  program
    .command('check')
    .description('validate a configuration without network: every problem on a line of its own')
    .option('-c, --config <file>', 'the configuration (required)')
    .action(async (options: { readonly config: string }, command: Command) => {
      demand(command, 'config')
      await (await import('./check.js')).check(options)
    })

  program
    .command('doctor')
    .description('go out and try everything: stores, signers, keys; or compare two configurations')
    .addOption(configOption())
    .option('--compare <files...>', 'two configurations: what do they sign differently?')
    .addOption(jsonOption())
    .action(async (options: DoctorOptions, command: Command) => {
      if (options.compare !== undefined && options.compare.length !== 2)
        command.error("error: option '--compare <files...>' needs two files")
      await (await import('./doctor.js')).doctor(options)
    })

  program
    .command('migrate')
    .description('make and check what the stores need beside records: the indexes of MongoDB')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: MigrateOptions) => (await import('./migrate.js')).migrate(options))

  program
    .command('reload')
    .description('have the running service read its configuration anew')
    .addOption(configOption())
    .option('--force', 'take keys out although tokens that they signed may live')
    .action(async (options: ReloadOptions) => (await import('./reload.js')).reload(options))

  addKeyCommands(program.command('keys').description('the keys of a deployment').helpCommand(false))
  addAuditCommands(program.command('audit').description('the audit log').helpCommand(false))
  addClientCommands(
    program.command('clients').description('clients in the records store, while the service runs').helpCommand(false),
  )
  addAccountCommands(program.command('accounts').description('accounts for sign-in by password').helpCommand(false))
  addPersonCommands(program)
  const principals = program.command('principals').description('devices and services that enrol keys')
  addFactorCommands(principals.helpCommand(false))
  addPrincipalCommands(principals)
  return program
}

const addKeyCommands = (keys: Command): void => {
  keys
    .command('list')
    .description('the configured keys and their states')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: ListKeysOptions) => (await import('./keys.js')).printKeys(options))
  keys
    .command('plan')
    .description('the timeline of the keys: what changes when, who signs, and gaps')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: PlanKeysOptions) => (await import('./plan-keys.js')).printPlan(options))
  keys
    .command('create')
    .description('make a key in a signer and print the lines for `keys:`')
    .addOption(configOption())
    .option('--signer <name>', 'the signer, as the configuration calls it (required)')
    .addOption(new Option('--alg <alg>', 'the algorithm (required)').choices(allAlgorithms))
    .option('--kid <kid>', 'default: the algorithm and a random part')
    .option('--ref <ref>', 'the name for the signer; default: the kid')
    .action(async (options: CreateKeyOptions, command: Command) => {
      demand(command, 'signer', 'alg')
      await (await import('./keys.js')).createKey(options)
    })
}

const addAuditCommands = (audit: Command): void => {
  audit
    .command('verify')
    .description('follow the chains of the audit log: is a line changed, missing, or in another place?')
    .argument('[files...]', 'the oldest first, gzip or not; - or none: standard input')
    .option('--partial', 'the lines before the first ones are in files that are not at hand')
    .option('--head <hash>', 'a head that was noted before, which must be there; may be repeated', collect)
    .addOption(jsonOption())
    .action(async (files: readonly string[], options: VerifyCommandOptions) =>
      (await import('./audit.js')).verifyAuditFiles(files, options),
    )
  audit
    .command('reconcile')
    .description('hold the signatures of CloudTrail against those of the audit log')
    .option('--cloudtrail <files...>', 'exports of CloudTrail, .json or .json.gz (required)')
    .option('--audit <files...>', 'audit logs; default: the one of --config')
    .option('-c, --config <file>', 'looks at the keys of this configuration alone')
    .option('--from <time>', 'misses nothing that was signed earlier', parseTime)
    .option('--until <time>', 'misses nothing that was signed then or later', parseTime)
    .addOption(jsonOption())
    .action(async (options: ReconcileCommandOptions, command: Command) => {
      demand(command, 'cloudtrail')
      await (await import('./audit.js')).reconcileAudit(options)
    })
}

const addClientCommands = (clients: Command): void => {
  clients
    .command('list')
    .description('all clients, of the configuration and of the store')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: ClientOptions) => (await import('./clients.js')).printClients(options))
  clients
    .command('add')
    .description('add a client and print its id and, once, its secret')
    .addOption(configOption())
    .option('--client-id <id>', 'default: a random UUID')
    .option('--name <name>', 'client_name: what people read when they are asked')
    .option('--application-type <type>', 'application_type: web (default) or native')
    .option('--redirect-uri <uri>', 'redirect_uris; may be repeated', collect)
    .option('--grant-type <type>', 'grant_types; may be repeated; default: authorization_code', collect)
    .option('--scope <scopes>', 'scope: names with blanks between them; default: all that are supported')
    .option('--auth-method <method>', 'token_endpoint_auth_method; default: client_secret_basic')
    .option('--audience <uri>', 'allowed_audiences; may be repeated', collect)
    .option('--file <file>', 'metadata as a JSON object (RFC 7591); options of this command win')
    .addOption(jsonOption())
    .action(async (options: AddClientOptions) => (await import('./add-client.js')).addClient(options))
  clients
    .command('show')
    .description("a client's metadata, without its secret")
    .argument('<client_id>')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (clientId: string, options: ClientOptions) =>
      (await import('./clients.js')).printClient(clientId, options),
    )
  clients
    .command('remove')
    .description('remove a client from the store: it is unknown at once, or in 5 seconds where records are remote')
    .argument('<client_id>')
    .addOption(configOption())
    .action(async (clientId: string, options: DeploymentOptions) =>
      (await import('./clients.js')).removeClient(clientId, options),
    )
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

const parseTime = (written: string): number => {
  const time = Date.parse(written)
  if (Number.isNaN(time)) throw new InvalidArgumentError('Write a time such as 2026-11-20T00:00:00Z.')
  return time
}
