import { Option, type Command } from 'commander'
import { consentChoices } from '../oauth/clients/client.js'
import type { AddClientOptions, MetadataOptions } from './client-metadata.js'
import type { ClientOptions, RemoveOptions, RotateOptions, ShowOptions } from './clients.js'
import { collect, configOption, jsonOption, parseDuration, wideOption } from './options.js'

/** Adds the commands for clients in the records store. */
export const addClientCommands = (clients: Command): void => {
  clients
    .command('list')
    .description('list all clients, of the configuration and of the store')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ClientOptions) => (await import('./clients.js')).printClients(options))
  addMetadataOptions(
    clients
      .command('add')
      .description('add a client, and print its id and its secret, which is shown only once')
      .option('--client-id <id>', 'default: a random UUID'),
  ).action(async (options: AddClientOptions) => (await import('./client-metadata.js')).addClientTo(options))
  oneClient(clients, 'show', "show a client's metadata, without its secret")
    .option('--effective', 'also show the settings that apply, and where each comes from')
    .action(async (clientId: string, options: ShowOptions) =>
      (await import('./clients.js')).printClient(clientId, options),
    )
  addMetadataOptions(
    clients
      .command('update')
      .description('change metadata of a client in the store; what is not named stays, its secret too')
      .argument('<client_id>'),
  ).action(async (clientId: string, options: MetadataOptions) =>
    (await import('./client-metadata.js')).updateClientOf(clientId, options),
  )
  oneClient(clients, 'rotate-secret', 'replace the secret of a client in the store, and print the new one once')
    .option(
      '--overlap <duration>',
      'how long the old secret stays valid: 90m, 24h, 7d; default: not at all',
      parseDuration,
    )
    .action(async (clientId: string, options: RotateOptions) =>
      (await import('./clients.js')).rotateSecret(clientId, options),
    )
  oneClient(clients, 'disable', 'refuse every request of a client in the store').action(
    async (clientId: string, options: ClientOptions) =>
      (await import('./clients.js')).setDisabled(clientId, true, options),
  )
  oneClient(clients, 'enable', 'enable a disabled client').action(async (clientId: string, options: ClientOptions) =>
    (await import('./clients.js')).setDisabled(clientId, false, options),
  )
  clients
    .command('remove')
    .description('remove a client from the store; takes effect at once, or within 5 seconds with remote records')
    .argument('[client_id]')
    .option('--unused', 'all that anybody may have registered and nobody has used, in the place of <client_id>')
    .option('--address <address>', 'with --unused: of this address alone, an IPv6 address standing for its /64')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (clientId: string | undefined, options: RemoveOptions) =>
      (await import('./clients.js')).removeClients(clientId, options),
    )
}

const oneClient = (clients: Command, name: string, description: string): Command =>
  clients
    .command(name)
    .description(description)
    .argument('<client_id>')
    .addOption(configOption())
    .addOption(jsonOption())

const addMetadataOptions = (command: Command): Command =>
  command
    .addOption(configOption())
    .option('--name <name>', 'client_name: the name that people see on the consent page')
    .option('--application-type <type>', 'application_type: web (default) or native')
    .option('--redirect-uri <uri>', 'redirect_uris; may be repeated', collect)
    .option('--post-logout-redirect-uri <uri>', 'post_logout_redirect_uris; may be repeated', collect)
    .option('--backchannel-logout-uri <uri>', 'backchannel_logout_uri: is told when a session ends')
    .option('--grant-type <type>', 'grant_types; may be repeated; default: authorization_code', collect)
    .option('--scope <scopes>', 'scope: names separated by spaces; default: all supported scopes')
    .option('--auth-method <method>', 'token_endpoint_auth_method; default: a secret, sent either way')
    .addOption(
      new Option('--consent <when>', 'consent: when people are asked; default: remembered').choices(consentChoices),
    )
    .option('--audience <uri>', 'allowed_audiences; may be repeated', collect)
    .option(
      '--introspection-audience <uri>',
      'introspection_audiences: whose tokens it may ask about; may be repeated',
      collect,
    )
    .option('--file <file>', 'metadata as a JSON object (RFC 7591); options of this command take precedence')
    .addOption(jsonOption())
