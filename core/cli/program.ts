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
  // A reader that takes only the first lines, such as `head`, has what it wanted.
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
    .description('validate a configuration without network access; prints one line for each problem')
    .option('-c, --config <file>', 'the configuration (required)')
    .action(async (options: { readonly config: string }, command: Command) => {
      demand(command, 'config')
      await (await import('./check.js')).check(options)
    })

  program
    .command('doctor')
    .description('test every store, signer and key, or compare two configurations')
    .addOption(configOption())
    .option('--compare <files...>', 'show what two configurations sign differently')
    .addOption(jsonOption())
    .action(async (options: DoctorOptions, command: Command) => {
      if (options.compare !== undefined && options.compare.length !== 2)
        command.error("error: option '--compare <files...>' needs two files")
      await (await import('./doctor.js')).doctor(options)
    })

  program
    .command('migrate')
    .description('create and check what the stores need besides records: the indexes of MongoDB')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: MigrateOptions) => (await import('./migrate.js')).migrate(options))

  program
    .command('reload')
    .description('make the running service reload its configuration')
    .addOption(configOption())
    .option('--force', 'remove keys even if tokens that they signed may still be valid')
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
    .description('list the configured keys and their states')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: ListKeysOptions) => (await import('./keys.js')).printKeys(options))
  keys
    .command('plan')
    .description('show the timeline of the keys: changes, signing keys and gaps')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: PlanKeysOptions) => (await import('./plan-keys.js')).printPlan(options))
  keys
    .command('create')
    .description('create a key in a signer and print the lines for `keys:`')
    .addOption(configOption())
    .option('--signer <name>', 'the name of the signer in the configuration (required)')
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
    .description('verify the chains of the audit log: report lines that were changed, moved or removed')
    .argument('[files...]', 'oldest first, plain or gzip; - or no file: standard input')
    .option('--partial', 'accept that earlier lines are in files that are not given')
    .option('--head <hash>', 'a head noted earlier, which the log must contain; may be repeated', collect)
    .addOption(jsonOption())
    .action(async (files: readonly string[], options: VerifyCommandOptions) =>
      (await import('./audit.js')).verifyAuditFiles(files, options),
    )
  audit
    .command('reconcile')
    .description('compare the signatures in CloudTrail with the audit log')
    .option('--cloudtrail <files...>', 'exports of CloudTrail, .json or .json.gz (required)')
    .option('--audit <files...>', 'audit logs; default: the one of --config')
    .option('-c, --config <file>', 'compare only the keys of this configuration')
    .option('--from <time>', 'do not report signatures before this time as missing', parseTime)
    .option('--until <time>', 'do not report signatures from this time on as missing', parseTime)
    .addOption(jsonOption())
    .action(async (options: ReconcileCommandOptions, command: Command) => {
      demand(command, 'cloudtrail')
      await (await import('./audit.js')).reconcileAudit(options)
    })
}

const addClientCommands = (clients: Command): void => {
  clients
    .command('list')
    .description('list all clients, of the configuration and of the store')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: ClientOptions) => (await import('./clients.js')).printClients(options))
  clients
    .command('add')
    .description('add a client, and print its id and its secret, which is shown only once')
    .addOption(configOption())
    .option('--client-id <id>', 'default: a random UUID')
    .option('--name <name>', 'client_name: the name that people see on the consent page')
    .option('--application-type <type>', 'application_type: web (default) or native')
    .option('--redirect-uri <uri>', 'redirect_uris; may be repeated', collect)
    .option('--grant-type <type>', 'grant_types; may be repeated; default: authorization_code', collect)
    .option('--scope <scopes>', 'scope: names separated by spaces; default: all supported scopes')
    .option('--auth-method <method>', 'token_endpoint_auth_method; default: client_secret_basic')
    .option('--audience <uri>', 'allowed_audiences; may be repeated', collect)
    .option('--file <file>', 'metadata as a JSON object (RFC 7591); options of this command take precedence')
    .addOption(jsonOption())
    .action(async (options: AddClientOptions) => (await import('./add-client.js')).addClient(options))
  clients
    .command('show')
    .description("show a client's metadata, without its secret")
    .argument('<client_id>')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (clientId: string, options: ClientOptions) =>
      (await import('./clients.js')).printClient(clientId, options),
    )
  clients
    .command('remove')
    .description('remove a client from the store; takes effect at once, or within 5 seconds with remote records')
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
