import { InvalidArgumentError, Option, type Command } from 'commander'
import type { ClientOptions } from './clients.js'
import { configOption, jsonOption, parseDuration, wideOption } from './options.js'
import type { IssueOptions } from './registrations.js'

/**
 * Adds the commands that control who may register clients (RFC 7591). The clients themselves belong to `signet
 * clients`.
 */
export const addRegistrationCommands = (registrations: Command): void => {
  registrations
    .command('issue')
    .description('issue an initial access token, with which clients register themselves, and print it once')
    .option('--uses <number>', 'how many clients may be registered with it', parseUses, 1)
    .addOption(
      new Option('--expires-in <duration>', 'how long it is valid: 90m, 24h, 7d')
        .argParser(parseDuration)
        .default(86_400, '24h'),
    )
    .option('--policy <name>', 'one of registration.policies; default: registration.policy')
    .option('--note <text>', 'whom it is for; the list shows it')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: IssueOptions) => (await import('./registrations.js')).printNewInitialAccessToken(options))
  registrations
    .command('list')
    .description('list the initial access tokens that have not expired')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ClientOptions) => (await import('./registrations.js')).printInitialAccessTokens(options))
  registrations
    .command('revoke')
    .description('revoke an initial access token; clients that were registered with it stay')
    .argument('<id>')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (id: string, options: ClientOptions) => (await import('./registrations.js')).revokeToken(id, options))
  registrations
    .command('rotate-token')
    .description('replace the registration access token of a client, and print the new one once')
    .argument('<client_id>')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (clientId: string, options: ClientOptions) =>
      (await import('./registrations.js')).rotateTokenOf(clientId, options),
    )
}

const maxUses = 1_000_000

const parseUses = (written: string): number => {
  const uses = /^[1-9]\d{0,6}$/.test(written) ? Number(written) : NaN
  if (!(uses <= maxUses)) throw new InvalidArgumentError(`Write a number from 1 to ${String(maxUses)}.`)
  return uses
}
